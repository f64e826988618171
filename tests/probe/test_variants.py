"""Copies with other weights: what changes in them, and that the network itself does not."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from tests import nets
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import nn

from firstlight.probe.variants import NORMALIZATIONS, absolute, reinitialized

NETS = ["residual", "smooth", "attention", "fused_attention", "plain", "mlp"]


@pytest.mark.parametrize("name", NETS)
def test_absolute_copies_hold_the_sizes_of_all_numbers(name: str) -> None:
    net = nets.build(name).float()
    before = snapshot(net)
    twin = absolute(net, batch_norm=True)
    assert_unchanged(before, snapshot(net))
    assert twin.state_dict().keys() == net.state_dict().keys()
    for key, tensor in twin.state_dict().items():
        original = net.state_dict()[key]
        assert torch.equal(tensor, original.abs().to(tensor.dtype))
        assert tensor.dtype == (torch.float64 if original.is_floating_point() else original.dtype)


def test_batch_norm_is_taken_out_and_other_normalizations_stay() -> None:
    kept = [type(m) for m in absolute(nets.build("residual")).modules()]
    assert nn.BatchNorm2d not in kept
    assert kept.count(nn.Identity) == 2
    assert nn.LayerNorm in [type(m) for m in absolute(nets.build("attention")).modules()]


def drawn(net: nn.Module, *, kaiming: bool, seed: int = 0) -> nn.Module:
    return reinitialized(net, torch.Generator().manual_seed(seed), kaiming=kaiming)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("kaiming", [False, True])
def test_biases_and_normalizations_start_afresh(name: str, kaiming: bool) -> None:
    net = nets.build(name).train()
    net(nets.images(3))  # moves running statistics
    before = snapshot(net)
    twin = drawn(net, kaiming=kaiming)
    assert_unchanged(before, snapshot(net))
    for module in twin.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            assert module.bias is None or not module.bias.any()
            fan_in = module.weight[0].numel()
            spread = module.weight.std().item() / (sqrt(2 / fan_in) if kaiming else 1.0)
            assert spread == pytest.approx(1.0, abs=5 / sqrt(2 * module.weight.numel()))
        if isinstance(module, nn.MultiheadAttention):
            assert not module.in_proj_bias.any()
            spread = module.in_proj_weight.std().item() / (sqrt(2 / 16) if kaiming else 1.0)
            assert spread == pytest.approx(1.0, abs=5 / sqrt(2 * module.in_proj_weight.numel()))
        if isinstance(module, NORMALIZATIONS):
            assert module.weight.unique().tolist() == [1.0]
            assert not module.bias.any()
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_var.unique().tolist() == [1.0]
            assert module.num_batches_tracked == 0


def test_weights_follow_the_generator_and_nothing_else() -> None:
    first, again, other, trained = (
        drawn(nets.build("plain", seed=net), kaiming=True, seed=seed)[0].weight
        for seed, net in ((0, 0), (0, 0), (1, 0), (0, 5))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(first, trained)
