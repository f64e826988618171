"""Quantities of altered copies: what they agree with, what they remember, and that the network stays as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from tests import nets, slow
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe

QUANTITIES: dict[str, Callable[[Probe], object]] = {
    "path_sum": lambda probe: probe.path_sum(),
    "path_sum with BatchNorm": lambda probe: probe.path_sum(batch_norm=True),
    "feature_change": lambda probe: probe.feature_change(),
    "given feature_change": lambda probe: probe.feature_change(given=torch.stack([nets.images(2), nets.images(2)])),
    "block_statistics": lambda probe: probe.block_statistics(),
    "given block_statistics": lambda probe: probe.block_statistics(given=True),
    "training_steps images": lambda probe: probe.training_steps(recipe="sgd", batches=2).losses,
    "training_steps clicks": lambda probe: probe.training_steps(recipe="adagrad", batches=2).losses,
}


def partly_frozen() -> nn.Module:
    net = nets.build("residual").eval()
    next(net.parameters()).requires_grad_(False)
    return net


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_network_stays_as_it_was(name: str) -> None:
    net = partly_frozen()
    before = snapshot(net)
    QUANTITIES[name](Probe(net, nets.labelled(2)))
    assert_unchanged(before, snapshot(net))


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_answer_is_remembered_and_the_same_again(name: str) -> None:
    net = partly_frozen()
    probe = Probe(net, nets.labelled(2), seed=3)
    found = QUANTITIES[name](probe)
    calls: list[int] = []
    net.register_forward_hook(lambda *_: calls.append(1))
    assert QUANTITIES[name](probe) == found
    assert not calls
    torch.rand(5)  # the global random state and the mode have no say
    assert QUANTITIES[name](Probe(partly_frozen().train(), nets.labelled(2), seed=3)) == found


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "plain", "mlp"])
def test_path_sum(name: str) -> None:
    expected = slow.path_sum(nets.build(name), nets.images(1))
    assert Probe(nets.build(name).float(), nets.images(3)).path_sum() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "mlp"])
def test_the_first_step_starts_from_the_networks_own_gradient(name: str) -> None:
    batches = nets.labelled(2)
    steps = Probe(nets.build(name), batches).training_steps(recipe="sgd", batches=1)
    gradient = slow.loss_gradients(nets.build(name), *batches[0])
    assert steps.losses == [pytest.approx(slow.loss(nets.build(name), *batches[0]), rel=1e-9)]
    assert steps.gradients[0].keys() == gradient.keys()
    for key, layer in slow.layers(nets.build(name)).items():
        assert torch.allclose(steps.gradients[0][key], gradient[key], rtol=1e-9, atol=1e-14)
        assert torch.allclose(steps.weights[key], layer.weight.detach() - gradient[key], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "mlp"])
def test_later_steps_start_from_moved_weights(name: str) -> None:
    (x, y), again = nets.labelled(2)
    net = nets.build(name)
    probe = Probe(net, [(x, y), again])
    steps = probe.training_steps(recipe="sgd", batches=2)
    moved = nets.build(name).train()
    F.cross_entropy(moved(x), y).backward()
    with torch.no_grad():
        for parameter in moved.parameters():
            if parameter.grad is not None:
                parameter.sub_(parameter.grad)  # normalizations and biases move as well
    expected = slow.loss_gradients(moved, *again)
    for key, gradient in expected.items():
        assert torch.allclose(steps.gradients[1][key], gradient, rtol=1e-7, atol=1e-12)
    assert probe.training_steps(recipe="sgd", batches=1).losses == steps.losses[:1]


def test_frozen_layers_move_for_images_and_rest_for_clicks() -> None:
    net = nets.build("residual")
    net.stem.requires_grad_(False)
    probe = Probe(net, nets.labelled(2))
    images = probe.training_steps(recipe="sgd", batches=2)
    clicks = probe.training_steps(recipe="adagrad", batches=2)
    assert not torch.equal(images.weights["stem.0"], net.stem[0].weight)
    assert clicks.weights.keys() == {name for name, p in net.named_parameters() if p.requires_grad}
    with pytest.raises(UnsupportedError, match="frozen"):
        Probe(net.requires_grad_(False), nets.labelled(2)).training_steps(recipe="adagrad", batches=2)


def test_large_gradients_are_clipped_for_clicks() -> None:
    def loud(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return 1e3 * F.cross_entropy(logits, targets)

    steps = Probe(nets.build("mlp"), nets.labelled(1), loss=loud).training_steps(recipe="adagrad", batches=1)
    size = sum(float(g.square().sum()) for g in steps.gradients[0].values()) ** 0.5
    assert size == pytest.approx(5.0, rel=1e-4)


def test_groups_are_parameters_of_one_size_in_modules_of_one_description() -> None:
    net = nn.ModuleDict(
        {"a": nn.Linear(3, 4), "b": nn.Linear(3, 4), "c": nn.Linear(3, 4, bias=False), "d": nn.LayerNorm(4)}
    )
    groups = Probe(net, torch.ones(1, 3)).layer_groups()
    together: dict[str, set[str]] = {}
    for name, group in groups.items():
        together.setdefault(group, set()).add(name)
    assert sorted(map(sorted, together.values())) == [
        ["a.bias", "b.bias"],
        ["a.weight", "b.weight"],
        ["c.weight"],
        ["d.bias", "d.weight"],
    ]


def test_transformers_normalize_tokens() -> None:
    found = {
        name: Probe(nets.build(name), nets.images(1)).is_transformer() for name in ("attention", "residual", "mlp")
    }
    assert found == {"attention": True, "residual": False, "mlp": False}


def test_drawn_quantities_follow_the_seed() -> None:
    first, other = (Probe(nets.build("plain"), nets.images(3), seed=seed) for seed in (0, 1))
    assert first.feature_change() != other.feature_change()
    assert first.feature_change(draw=1) != first.feature_change()
    assert first.block_statistics() != other.block_statistics()
    assert first.block_statistics(given=True) == other.block_statistics(given=True)
    assert first.path_sum() == other.path_sum()
