"""Features between blocks: entropies by singular values, gains by the whole Jacobian."""

from __future__ import annotations

from itertools import pairwise
from math import log

import pytest
import torch
from tests import nets, slow
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.blocks import block_statistics, blocks_of


class Tokens(nn.Module):
    """A list of residual blocks over tokens, with LayerNorm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 6, 4, stride=4)
        parts = (nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 6)) for _ in range(3))
        self.blocks = nn.ModuleList(nn.ModuleDict({"part": part}) for part in parts)
        self.ends = nn.ModuleList(nn.Identity() for _ in range(3))
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(6, 4)

    def feature_blocks(self) -> list[nn.Module]:
        return list(self.ends)

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(self.patches(x).flatten(2).mT)
        for block, end in zip(self.blocks, self.ends, strict=True):
            x = end(x + block["part"](x))
        return self.head(x.mean(1))


def normalized() -> nn.Module:
    def unit(channels: int, out: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]

    return nn.Sequential(
        nn.Sequential(*unit(3, 4, 1)), *unit(4, 6, 2), *unit(6, 6, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )


def build(name: str) -> nn.Module:
    if name in nets.NETS:
        return nets.build(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return (Tokens() if name == "tokens" else normalized()).double()


@pytest.mark.parametrize("name", ["plain", "residual", "normalized", "tokens"])
def test_entropies_and_gains(name: str) -> None:
    x = nets.images(2)
    net = build(name).train(name != "tokens")
    blocks = blocks_of(net)
    assert len(blocks) == 3
    found = Probe(build(name), x).block_statistics(given=True)
    expected = [slow.entropy(feature) for feature in slow.block_features(net, blocks, x)]
    assert found.entropies == pytest.approx(expected, rel=1e-7)
    expected_gains = [slow.block_gain(net, before, after, x) for before, after in pairwise(blocks)]
    assert found.gains == pytest.approx(expected_gains, rel=1e-7)
    assert min(expected_gains) > 0


def entropy(feature: Tensor) -> float:
    movable = feature.clone().requires_grad_()
    return block_statistics([movable, movable], torch.ones_like).entropies[0]


def gains(*features: Tensor) -> tuple[float | None, ...]:
    return block_statistics(list(features), torch.ones_like).gains


def test_entropy_of_known_features() -> None:
    even = torch.tensor([[1.0, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]).reshape(1, 3, 2, 2)
    assert entropy(even) == pytest.approx(log(3), abs=1e-6)
    assert entropy(even[:, :1].expand(1, 3, 2, 2)) == pytest.approx(0, abs=1e-6)
    assert entropy(even.flatten(2).mT) == pytest.approx(log(3), abs=1e-6)  # tokens


def test_entropy_does_not_see_scale_shift_or_rotation_of_channels() -> None:
    feature = nets.images(3)
    feature[:, 1] = feature[:, 0] + 0.3 * feature[:, 1]
    rotation = torch.linalg.qr(nets.images(1, side=3).reshape(3, 9)[:, :3])[0]
    turned = torch.einsum("ij,njhw->nihw", rotation, feature) * 7 + 2
    assert entropy(turned) == pytest.approx(entropy(feature), rel=1e-9)
    assert entropy(feature) < 0.95 * log(3)


def test_gains_of_known_blocks() -> None:
    before = nets.images(2).requires_grad_()
    assert gains(before, before.clone()) == (None,)  # passes everything on
    assert gains(before, before * 2) == pytest.approx((6.0,))  # a matrix (3, 3) full of twos
    assert gains(before, before.detach() + before * 0) == (0.0,)
    assert gains(before, nets.images(2, seed=1).requires_grad_()) == (0.0,)  # no way back at all


def test_blocks_are_the_outermost_relus_or_the_longest_list_or_named() -> None:
    assert [type(block) for block in blocks_of(nets.build("plain"))] == [nn.ReLU] * 3
    hidden = nn.ModuleDict({"first": nn.ReLU(), "cell": nn.ModuleDict({"inner": nn.ReLU()})})
    with pytest.raises(UnsupportedError, match="feature_blocks"):
        blocks_of(hidden)
    lists = nn.ModuleDict({"a": nn.ModuleList([nn.Linear(1, 1)] * 2), "b": nn.ModuleList([nn.Tanh() for _ in "xyz"])})
    assert blocks_of(lists) == list(lists["b"])
    residual = nets.build("residual")
    assert blocks_of(residual) == [residual.stem, residual.body, residual.down]


def test_tokens_that_are_merged() -> None:
    before = nets.images(2).flatten(2).mT.requires_grad_()
    with pytest.raises(UnsupportedError, match="number of tokens"):
        gains(before, before[:, ::2] * 2)


def test_a_block_before_all_weights() -> None:
    net = nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()).double()
    x = nets.images(2)
    found = Probe(net, x).block_statistics(given=True)
    assert found.gains == pytest.approx((slow.block_gain(net, net[0], net[2], x),), rel=1e-7)


class Named(nn.Sequential):
    """Takes features behind every convolution."""

    def feature_blocks(self) -> list[nn.Module]:
        return [layer for layer in self if isinstance(layer, (nn.Conv2d, nn.Flatten))]


def test_features_are_taken_before_later_layers_overwrite_them() -> None:
    net = Named(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, padding=1)).double()
    x = nets.images(2)
    found = Probe(net, x).block_statistics(given=True)
    features = slow.block_features(net, net.feature_blocks(), x)
    assert found.entropies == pytest.approx([slow.entropy(feature) for feature in features], rel=1e-7)
    assert found.gains == pytest.approx((slow.block_gain(net, net[0], net[2], x),), rel=1e-7)


@pytest.mark.parametrize("side", [7, 9])
def test_features_whose_sizes_do_not_match(side: int) -> None:
    with pytest.raises(UnsupportedError, match="multiple"):
        Probe(nets.build("plain"), nets.images(2, side=side)).block_statistics()


def test_blocks_that_are_too_few_or_make_no_features() -> None:
    with pytest.raises(UnsupportedError, match="two blocks"):
        Probe(Named(nn.Conv2d(3, 3, 1)), nets.images(2)).block_statistics()
    with pytest.raises(UnsupportedError, match="neither a feature map"):
        Probe(Named(nn.Flatten(), nn.Linear(192, 2)), nets.images(2)).block_statistics()
