"""The probe itself: batches, memory, errors, and the promise to leave no trace."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from tests import nets
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks

import firstlight
from firstlight.core.errors import DataError, ModelError, UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []
        self.layer = nn.Conv2d(3, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append(1)
        return self.layer(x).flatten(1)


def test_each_quantity_is_measured_once_for_each_set_of_arguments() -> None:
    net = Counting()
    probe = Probe(net, torch.randn(1, 3, 4, 4))
    first = probe.feature_statistic(InverseCondition())
    assert probe.feature_statistic(InverseCondition()) is first
    assert len(net.calls) == 1
    probe.feature_statistic(InverseCondition(), modules="leaf")
    assert len(net.calls) == 2
    basis = torch.linalg.qr(torch.randn(48, 2))[0]
    probe.output_curvature(basis=basis)
    probe.output_curvature(basis=basis.clone(), coordinates=(0, 1))
    assert len(net.calls) == 3


def test_batches_may_be_a_tensor_a_pair_or_a_list() -> None:
    x, y = torch.randn(2, 3), torch.tensor([0, 1])
    net = nn.Linear(3, 2)
    assert [(b.inputs[0].shape, b.targets is None) for b in Probe(net, x).batches] == [((2, 3), True)]
    assert [(b.inputs[0].shape, b.targets is None) for b in Probe(net, (x, y)).batches] == [((2, 3), False)]
    assert [b.targets is None for b in Probe(net, [(x, y), x, (x, None)]).batches] == [False, True, True]


@pytest.mark.parametrize("batches", [[], [torch.zeros(0, 3)], [torch.tensor(1.0)], ["text"], [(1, 2, 3)], None, 3])
def test_batches_that_make_no_sense(batches: Any) -> None:
    with pytest.raises(DataError, match=r"[Bb]atch"):
        Probe(nn.Linear(3, 2), batches)


def test_inputs_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="NaN"):
        Probe(nn.Linear(3, 2), torch.tensor([[1.0, float("nan"), 0.0]]))


def test_models_that_are_none_or_not_ready() -> None:
    with pytest.raises(ModelError, match=r"torch.nn.Module, got a str"):
        Probe("model", torch.zeros(1, 3))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="lazy"):
        Probe(nn.LazyLinear(2), torch.zeros(1, 3))
    with pytest.raises(ModelError, match="lazy"):
        Probe(nn.LazyBatchNorm2d(), torch.zeros(1, 3, 2, 2))
    with pytest.raises(ModelError, match="TorchScript"):
        Probe(nn.Sequential(torch.jit.trace(nn.Linear(3, 2), torch.zeros(1, 3))), torch.zeros(1, 3))


def test_rows_that_are_no_samples_have_no_labels() -> None:
    merged = nn.Sequential(nn.Flatten(0, 1), nn.Linear(4, 5))
    probe = Probe(merged, (torch.randn(2, 3, 4), torch.tensor([0, 1])))
    with pytest.raises(UnsupportedError, match="6 rows for 2 samples"):
        probe.loss_gradients()


def test_a_first_layer_in_place_does_not_change_the_batch() -> None:
    x = torch.randn(1, 3, 4, 4)
    before = x.clone()
    probe = Probe(nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(3, 4, 1), nn.Flatten()), x)
    probe.cost()
    probe.feature_statistic(InverseCondition())
    probe.output_jet()
    assert torch.equal(x, before)


def test_running_out_of_memory_is_not_taken_for_something_else() -> None:
    class Greedy(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.shape[-1] > 4:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
            return x.flatten(1)

    with pytest.raises(RuntimeError, match="allocate"):
        Probe(Greedy(), torch.randn(1, 3, 4, 4)).output_jet()
    with pytest.raises(RuntimeError, match="allocate"):
        Probe(Greedy(), torch.randn(1, 3, 8, 8)).feature_statistic(InverseCondition())


def test_inputs_take_the_precision_of_the_model() -> None:
    assert Probe(nn.Linear(3, 2).double(), torch.randn(1, 3)).batches[0].inputs[0].dtype == torch.float64
    assert Probe(nn.Identity(), torch.randn(1, 3).double()).batches[0].inputs[0].dtype == torch.float64
    assert Probe(nn.Embedding(5, 3), torch.tensor([[1]])).batches[0].inputs[0].dtype == torch.int64


def test_the_models_own_error_is_named_with_its_batch() -> None:
    probe = Probe(nn.Linear(3, 2), torch.randn(4, 5))
    with pytest.raises(ModelError, match=r"failed on \(1, 5\) torch.float32 on cpu: RuntimeError"):
        probe.feature_statistic(InverseCondition())


def test_whole_number_inputs_cannot_move() -> None:
    with pytest.raises(UnsupportedError, match="takes integers"):
        Probe(nn.Embedding(5, 3), torch.tensor([[1]])).output_curvature()


def test_a_basis_of_the_wrong_shape() -> None:
    with pytest.raises(DataError, match=r"\(7, 2\)"):
        Probe(nn.Flatten(), torch.randn(1, 3, 2, 2)).output_jet(basis=torch.zeros(7, 2))


class Restless(nn.Module):
    """Changes everything a forward pass can change: statistics, counters, a replaced buffer, all random streams."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.frozen = nn.BatchNorm2d(3).eval()
        self.register_buffer("replaced", torch.zeros(2))
        self.register_buffer("expanded", torch.zeros(1).expand(4))

    def forward(self, x: Tensor) -> Tensor:
        self.replaced = self.replaced + 1
        self.register_buffer("added", torch.ones(1))
        noise = torch.rand(1).item() + random.random() + np.random.rand()
        return self.frozen(self.norm(nn.functional.dropout(x * noise, 0.5))).mean((2, 3))


def snapshot(model: nn.Module) -> list[Any]:
    """Everything that must be as before; tensors also by their place, so that exchanging one for its copy shows."""
    modules = list(model.modules())
    own = [{k: v for k, v in vars(module).items() if not isinstance(v, (dict, set))} for module in modules]
    return [
        {name: tensor.clone() for name, tensor in model.state_dict().items()},
        {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()},
        {name: (id(tensor), tensor.data_ptr(), tensor.requires_grad) for name, tensor in _tensors(model)},
        [{k: v if isinstance(v, (bool, int, str)) else id(v) for k, v in attributes.items()} for attributes in own],
        [{k: list(v) for k, v in vars(module).items() if "hook" in k and isinstance(v, dict)} for module in modules],
        [len(_global_forward_hooks), torch.backends.mha.get_fastpath_enabled(), torch.get_num_threads()],
        [torch.is_grad_enabled(), torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()],
        torch.get_rng_state(),
        random.getstate(),
        np.random.get_state()[1],
    ]


def _tensors(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]


def assert_unchanged(before: list[Any], after: list[Any]) -> None:
    torch.testing.assert_close(before[:2], after[:2], rtol=0, atol=0, equal_nan=True)
    for old, new in zip(before[2:7], after[2:7], strict=True):
        assert old == new
    assert torch.equal(before[7], after[7])
    assert before[8] == after[8]
    assert np.array_equal(before[9], after[9])


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_comes_back_as_it_went_in(fails: bool) -> None:
    model = Restless().eval()
    model.norm.train()
    model.norm.running_mean = model.frozen.running_mean  # shared by two modules
    (model(torch.randn(2, 3, 4, 4)).sum()).backward()
    del model.added
    probe = Probe(model, torch.randn(2, 5 if fails else 3, 4, 4))
    before = snapshot(model)
    if fails:
        with pytest.raises(ModelError):
            probe.feature_statistic(InverseCondition())
    else:
        probe.feature_statistic(InverseCondition())
        probe.output_jet()
        probe.cost()
    assert_unchanged(before, snapshot(model))


def test_a_model_built_in_inference_mode() -> None:
    with torch.inference_mode():
        model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 5))
    probe = Probe(model, torch.randn(1, 3, 4, 4))
    assert probe.cost().macs == 12 * 16 + 64 * 5
    assert probe.feature_statistic(InverseCondition()).not_finite == 0
    with torch.inference_mode():
        assert Probe(model, torch.randn(1, 3, 4, 4)).cost() == probe.cost()


def test_stochastic_layers_follow_the_seed() -> None:
    model, x = Restless(), torch.randn(1, 3, 8, 8)
    first, again, other = (
        Probe(model, x, seed=seed).feature_statistic(InverseCondition()).values for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_nets_work_in_float32_too() -> None:
    for name in nets.NETS:
        probe = Probe(nets.build(name).float(), torch.randn(2, 3, 8, 8))
        assert probe.output_curvature() is not None
        assert probe.cost().params > 0


@pytest.mark.parametrize("proxy", ["te_ntk", "ntk_trace_exact", "grad_norm", "ntk_trace", "az_trainability", "jacov"])
def test_networks_of_nothing_are_unsupported(proxy: str) -> None:
    batches = (torch.randn(2, 3, 4, 4), torch.tensor([0, 1]))
    model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveAvgPool2d((0, 1)), nn.Flatten())
    score = firstlight.score(model, batches, [proxy, "params"])[proxy]
    assert score.status == "unsupported", score.note


def test_blocks_that_overflow_have_no_value() -> None:
    model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), Overflowing(), nn.ReLU(), nn.Flatten())
    score = firstlight.score(model, torch.randn(2, 3, 4, 4), "az_trainability")["az_trainability"]
    assert score.status == "non_finite", score.note


class Overflowing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / 0
