"""Weights that cells share: which paths are trained, and what a cell inherits."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import UnknownNameError
from firstlight.probe import Probe
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.nasbench201.shared import CellPaths, SharedCells
from firstlight.spaces.nasbench201.space import NASBench201
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.supernets.mixed import MixedEdge, set_weights

CELLS = SharedCells()
SMALL = NASBench201().skeleton(channels=4, cells=1, input_shape=(3, 8, 8))


def take(network: nn.Module, cell: Cell201) -> None:
    for place, chosen in zip(Supernet201.layout.places, cell.operations, strict=True):
        set_weights(network, place, {name: float(name == chosen) for name in Supernet201.layout.operations})


def gradients(network: nn.Module, x: Tensor) -> dict[str, Tensor]:
    named = dict(network.named_parameters())
    found = torch.autograd.grad(network(x).square().sum(), list(named.values()), allow_unused=True)
    return {name: value for name, value in zip(named, found, strict=True) if value is not None}


def edges(network: nn.Module) -> list[MixedEdge]:
    return [module for module in network.modules() if isinstance(module, MixedEdge)]


def test_cells_have_one_operation_on_each_edge_or_all() -> None:
    skeleton = firstlight.space("nasbench201").skeleton(channels=4, cells=2)
    network = SharedCells().network(skeleton)
    rng, chosen = random.Random(0), Counter[str]()
    for step in range(60):
        CellPaths("single-path").take(network, step, rng)
        by_place: dict[object, set[str]] = {}
        for edge in edges(network):
            on = [name for name, weight in edge.weights.items() if weight]
            assert [edge.weights[name] for name in on] == [1.0]
            by_place.setdefault(edge.place, set()).update(on)
            chosen.update(on)
        assert all(len(names) == 1 for names in by_place.values())  # the same in all cells
    assert set(chosen) == set(OPERATIONS)
    CellPaths("full").take(network, 0, rng)
    assert all(set(edge.weights.values()) == {0.2} for edge in edges(network))
    with pytest.raises(UnknownNameError, match="full, single-path"):
        CellPaths("any-path")


def test_a_cell_computes_and_learns_what_the_whole_network_does() -> None:
    network = CELLS.network(SMALL, seed=1).double()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.linspace(-0.2, 0.3, len(parameter)))
    x = torch.randn(6, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rng, space = random.Random(0), NASBench201()
    for cell in [space.sample(rng) for _ in range(6)]:
        take(network, cell)
        subnet = CELLS.subnet(network, cell)
        assert {name for name, _ in subnet.named_parameters()} == {
            name for name, _ in space.network(cell, SMALL).named_parameters()
        }
        torch.testing.assert_close(subnet(x), network(x))
        expected = {_by_itself(name, cell): value for name, value in gradients(network, x).items()}
        found = gradients(subnet, x)
        assert set(found) == set(expected)
        for name, value in found.items():
            torch.testing.assert_close(value, expected[name])


def _by_itself(name: str, cell: Cell201) -> str:
    for operation in set(cell.operations):
        name = name.replace(f"operations.{operation}.", "")
    return name


def test_weights_of_cells_are_shared_and_statistics_are_not() -> None:
    network = CELLS.network(SMALL)
    cell = NASBench201().parse(
        "|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_3x3~2|"
    )
    before = {name: value.clone() for name, value in network.state_dict().items()}
    subnet = CELLS.subnet(network, cell)
    addresses = {parameter.data_ptr() for parameter in network.parameters()}
    assert all(parameter.data_ptr() in addresses for parameter in subnet.parameters())
    assert subnet.training
    subnet(torch.randn(4, 3, 8, 8))
    scores = firstlight.score(
        subnet, [(torch.randn(4, 3, 8, 8), torch.arange(4)) for _ in range(4)], "zico:batches=4,sigeo,dextr,synflow"
    )
    assert {score.status for score in scores.values()} == {"ok"}
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_a_frozen_cell_has_a_classifier_to_train() -> None:
    network, cell = CELLS.network(SMALL), NASBench201().sample(random.Random(2))
    subnet = CELLS.subnet(network, cell, frozen=True)
    batches = [(torch.randn(4, 3, 8, 8), torch.arange(4)) for _ in range(4)]
    steps = Probe(subnet, batches).training_steps(recipe="adagrad")
    assert set(steps.weights) == {"classifier.weight", "classifier.bias"}
    assert all(parameter.requires_grad for parameter in network.parameters())
