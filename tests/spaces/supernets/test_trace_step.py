"""T and H of a step against plain double backward through everything, and against finite differences."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.spaces.supernets.test_one_shot import build, every_space, one_shot
from torch import Tensor, nn

from firstlight.spaces.supernets import set_weights
from firstlight.spaces.supernets.trace_step import (
    BoxPool,
    Objective,
    Path,
    ready_for_steps,
    saved_on_disk,
    trace_along,
    trace_step,
)

Weights = dict[str, Tensor]


def network_of(name: str) -> nn.Module:
    return ready_for_steps(build(name).double())


def batch(samples: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(samples, 3, 8, 8, generator=generator, dtype=torch.float64)
    return x, torch.randint(5, (samples,), generator=generator)


def random_path(name: str, seed: int, *, none: bool = True) -> Path:
    rng = random.Random(seed)
    return {
        choice.name: rng.sample([option for option in choice.options if none or option != "none"], choice.sampled)
        for choice in one_shot(name).choices
    }


def hard_weights(name: str, path: Path) -> Weights:
    return {
        choice.name: torch.tensor(
            [float(option in path[choice.name]) for option in choice.options], dtype=torch.float64
        )
        for choice in one_shot(name).choices
    }


def plain_trace(network: nn.Module, weights: Weights, *, create_graph: bool = False) -> Tensor:
    """All options are run, whatever they weigh."""
    for name, vector in weights.items():
        set_weights(network, name, list(vector.unbind()))
    x, labels = batch()
    loss = F.cross_entropy(network(x), labels)
    gradients = torch.autograd.grad(loss, list(network.parameters()), create_graph=create_graph, allow_unused=True)
    return torch.stack([gradient.square().sum() for gradient in gradients if gradient is not None]).sum()


@every_space
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_what_double_backward_through_all_options_gives(name: str, seed: int) -> None:
    network, path = network_of(name), random_path(name, seed)
    step = trace_step(network, path, *batch())
    weights = {name: vector.requires_grad_() for name, vector in hard_weights(name, path).items()}
    trace = plain_trace(network, weights, create_graph=True)
    slopes = torch.autograd.grad(trace, list(weights.values()), materialize_grads=True)
    assert step.trace == pytest.approx(float(trace.detach()), rel=1e-12)
    assert trace_along(network, path, *batch()) == pytest.approx(step.trace, rel=1e-12)
    for choice, expected in zip(one_shot(name).choices, slopes, strict=True):
        found = [step.slopes[choice.name][option] for option in choice.options]
        torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["nasbench201", "nasbench1shot1-s1", "darts"])
def test_slopes_are_finite_differences(name: str) -> None:
    network, path = network_of(name), random_path(name, 7, none=False)
    slopes = trace_step(network, path, *batch()).slopes
    weights = hard_weights(name, path)
    step = 1e-5
    for choice in one_shot(name).choices[:3]:
        for place, option in enumerate(choice.options):
            traces = []
            for shift in (step, -step):
                moved = {name: vector.clone() for name, vector in weights.items()}
                moved[choice.name][place] += shift
                traces.append(float(plain_trace(network, moved)))
            assert slopes[choice.name][option] == pytest.approx(
                (traces[0] - traces[1]) / (2 * step), rel=1e-4, abs=1e-4
            )


def test_none_never_changes_anything() -> None:
    path = {choice.name: ["skip_connect"] for choice in one_shot("nasbench201").choices} | {"0-1": ["none"]}
    slopes = trace_step(network_of("nasbench201"), path, *batch()).slopes
    assert all(options["none"] == 0 for options in slopes.values())
    assert any(slopes["0-1"].values())  # and yet, where it stands, the others have slopes


def test_weights_gradients_and_hooks_stay_as_they_were() -> None:
    network = network_of("nasbench201")
    before = {name: value.clone() for name, value in network.state_dict().items()}
    trace_step(network, random_path("nasbench201", 0), *batch())
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in network.modules())


@pytest.mark.parametrize("name", ["nasbench201", "darts"])
def test_what_is_kept_on_disk_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, path = network_of(name), random_path(name, 2, none=False)
    usual = trace_step(network, path, *batch())
    monkeypatch.setattr("firstlight.spaces.supernets.trace_step.SMALL", 1)
    loaded = []
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda *a, **k: loaded.append(1) or load(*a, **k))
    with saved_on_disk():
        assert trace_step(network, path, *batch()) == usual
    assert len(loaded) > 100


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 1, 1, 1), (2, 2, 2, 3)])
def test_faster_pools_are_pools(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    torch.testing.assert_close(BoxPool()(x), expected, rtol=1e-12, atol=1e-12)


def test_only_pools_of_that_kind_are_replaced() -> None:
    others = [nn.AvgPool2d(3, 1, 1), nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.AvgPool2d(2)]
    network = ready_for_steps(nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), *others))
    assert [type(module) for module in network] == [BoxPool, nn.AvgPool2d, nn.AvgPool2d, nn.AvgPool2d]


class Rescaled(nn.Module):
    """A layer in the parameterization of tangent kernels: W = w / sqrt(fan-in), w being the parameter, no bias."""

    def __init__(self, layer: nn.Conv2d | nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.root = layer.weight[0].numel() ** 0.5
        self.w = nn.Parameter(layer.weight.detach() * self.root)
        layer.weight.requires_grad_(False)
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        weight = self.w / self.root
        if isinstance(self.layer, nn.Linear):
            return F.linear(x, weight, self.bias)
        return F.conv2d(x, weight, None, self.layer.stride, self.layer.padding, self.layer.dilation, self.layer.groups)


def rescale(module: nn.Module) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, (nn.Conv2d, nn.Linear)):
            setattr(module, name, Rescaled(child))
        else:
            rescale(child)


def squared_error(logits: Tensor, labels: Tensor) -> Tensor:
    total = sum(
        (row - torch.eye(len(row)).to(row)[label]).square().sum() for row, label in zip(logits, labels, strict=True)
    )
    return total / len(labels)


@pytest.mark.parametrize("name", ["nasbench201", "nasbench1shot1-s1"])
@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_the_parameterization_of_tangent_kernels_is_that_of_rescaled_layers(name: str, loss: Any) -> None:
    path = random_path(name, 1, none=False)
    found = trace_step(network_of(name), path, *batch(), Objective(loss, "ntk"))
    network = network_of(name)
    rescale(network)
    weights = {choice: vector.requires_grad_() for choice, vector in hard_weights(name, path).items()}
    for choice, vector in weights.items():
        set_weights(network, choice, list(vector.unbind()))
    x, labels = batch()
    value = {"mse": squared_error, "cross_entropy": F.cross_entropy}[loss](network(x), labels)
    parameters = [p for title, p in network.named_parameters() if p.requires_grad and "bias" not in title]
    norms = [p for module in network.modules() if isinstance(module, nn.BatchNorm2d) for p in module.parameters()]
    chosen = list({id(p): p for p in (*parameters, *norms)}.values())  # shifts of BatchNorm are called bias, too
    gradients = torch.autograd.grad(value, chosen, create_graph=True, allow_unused=True)
    trace = torch.stack([gradient.square().sum() for gradient in gradients if gradient is not None]).sum()
    slopes = torch.autograd.grad(trace, list(weights.values()), materialize_grads=True)
    assert found.trace == pytest.approx(float(trace.detach()), rel=1e-10)
    assert trace_along(network_of(name), path, *batch(), Objective(loss, "ntk")) == pytest.approx(
        found.trace, rel=1e-12
    )
    for choice, expected in zip(one_shot(name).choices, slopes, strict=True):
        own = [found.slopes[choice.name][option] for option in choice.options]
        torch.testing.assert_close(torch.tensor(own, dtype=torch.float64), expected, rtol=1e-8, atol=1e-8)


def test_the_squared_error_is_that_of_one_hot_labels() -> None:
    name = "nasbench201"
    path = random_path(name, 4)
    found = trace_along(network_of(name), path, *batch(), Objective("mse"))
    network = network_of(name)
    for choice, vector in hard_weights(name, path).items():
        set_weights(network, choice, vector.tolist())
    x, labels = batch()
    gradients = torch.autograd.grad(squared_error(network(x), labels), list(network.parameters()), allow_unused=True)
    assert found == pytest.approx(sum(float(g.square().sum()) for g in gradients if g is not None), rel=1e-10)
