"""Mode and precision of a model under observation; the full contract is in test_probe.py."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import Tensor, nn

import firstlight
from firstlight.core.seeds import seeded
from firstlight.probe.observe import device_of, dtype_of, keeping_weights, modules_of, random_state, undisturbed


def test_modes_are_set_for_the_time_of_the_measurement() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()).eval())
    with undisturbed(model, training=False, seed=0):
        assert not any(module.training for module in model.modules())
    with undisturbed(model, training=True, seed=0):
        assert all(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False, False]


def test_random_streams_start_from_the_seed() -> None:
    draws = []
    for seed in (1, 1, 2):
        with undisturbed(nn.Identity(), training=True, seed=seed):
            draws.append(torch.rand(3).tolist())
    assert draws[0] == draws[1] != draws[2]


def test_where_and_in_which_precision_a_model_lives() -> None:
    assert device_of(nn.Linear(2, 2)) == torch.device("cpu")
    assert device_of(nn.Linear(2, 2, device="meta")) == torch.device("meta")
    assert device_of(nn.Identity()) == torch.device("cpu")
    assert dtype_of(nn.Linear(2, 2).half()) == torch.float16
    assert dtype_of(nn.Identity()) is None


class Remembering(nn.Module):
    """Keeps activations in attributes, as some models do, and a buffer that it makes when it is first run."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 1)
        self.last: Tensor | None = None
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.register_buffer("mean", x.mean())
        self.last = self.feature = self.layer(x)
        self.calls += 1
        return self.last.relu().mean((2, 3))


def test_what_a_forward_pass_stores_in_the_model_is_gone_afterwards() -> None:
    with seeded(2):  # with other weights only one output may move, of which Dextr knows no curvature
        model, images = Remembering(), torch.randn(4, 3, 8, 8)
    before = dict(vars(model))
    scores = firstlight.score(model, (images, torch.tensor([0, 1, 2, 3])), "grad_norm,dextr,jacov")
    assert all(score.ok for score in scores.values())
    assert vars(model) == before
    assert (model.last, model.calls, dict(model.named_buffers())) == (None, 0, {})
    copy.deepcopy(model)


def test_random_layers_move_the_random_state() -> None:
    model = nn.Dropout(0.5)
    before = random_state(model)
    model.eval()(torch.ones(3))
    assert torch.equal(before, random_state(model))
    model.train()(torch.ones(3))
    assert not torch.equal(before, random_state(model))


def test_the_callers_autocast_has_no_say() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), torch.randn(4, 3, 2, 2)
    batch = (x, torch.tensor([0, 1, 2, 0]))
    expected = firstlight.score(model, batch, "grad_norm,dextr,ntk_trace")
    with torch.autocast("cpu", torch.bfloat16):
        found = firstlight.score(model, batch, "grad_norm,dextr,ntk_trace")
    assert {name: score.value for name, score in found.items()} == {n: score.value for n, score in expected.items()}


class Upheaval(nn.Module):
    """Changes whatever a module has by name, and what its parameters carry."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.layer = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        (self.weight * 2).sum().backward()
        self.weight.requires_grad_(False)
        self.weight = nn.Parameter(torch.zeros(1))
        self.other = nn.Parameter(torch.zeros(1))
        self.layer = nn.Tanh()
        self.layer.register_forward_hook(lambda *arguments: None)
        self.register_forward_pre_hook(lambda *arguments: None)
        return self.eval().layer(x)


def test_parameters_modules_hooks_and_gradients_come_back() -> None:
    model = Upheaval()
    (model.weight * 3).sum().backward()
    before = snapshot(model)
    with undisturbed(model, training=True, seed=0):
        model(torch.ones(1))
    assert_unchanged(before, snapshot(model))
    assert model.weight.grad == 3


@pytest.mark.parametrize("how", ["in place", "past autograd", "replaced"])
def test_weights_that_the_model_writes_come_back(how: str) -> None:
    layer = nn.Linear(2, 2)
    before = snapshot(layer)
    with keeping_weights(layer), torch.no_grad():
        if how == "in place":
            layer.weight.mul_(2)
        elif how == "past autograd":
            layer.weight.data.fill_(float("nan"))
        else:
            layer.weight.data = torch.zeros(2, 2)
    assert_unchanged(before, snapshot(layer))


def test_modules_are_walked_in_the_order_of_pytorch() -> None:
    shared = nn.Sequential(nn.ReLU(), nn.Identity())
    model = nn.ModuleDict({"a": nn.Sequential(shared, nn.Tanh()), "b": shared, "c": nn.Sequential(shared[0])})
    model.register_module("nothing", None)
    shared.add_module("back", model)  # a cycle
    assert modules_of(model) == list(model.modules())


class OwnMode(nn.Module):
    """Keeps its mode elsewhere, behind a property."""

    def __init__(self) -> None:
        self.mode = True
        super().__init__()

    @property
    def training(self) -> bool:
        return self.mode

    @training.setter
    def training(self, training: bool) -> None:
        self.mode = training


def test_a_mode_behind_a_property_is_set_and_comes_back() -> None:
    model = nn.Sequential(OwnMode())
    with undisturbed(model, training=False, seed=0):
        assert not model[0].training
    assert model[0].training


def test_modules_without_all_registers_are_observed() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2))
    del model[0].__dict__["_forward_pre_hooks_with_kwargs"]  # as in models saved by older versions of PyTorch
    before = model[0].running_mean
    with undisturbed(model, training=True, seed=0):
        torch.nn.functional.batch_norm(torch.ones(4, 2), model[0].running_mean, model[0].running_var, training=True)
    assert model[0].running_mean is before
    assert not before.any()
