"""The one-shot network of DARTS in which NASI searches: what a path computes, and how a genotype is read off."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tests.spaces.supernets.test_one_shot import images, random_preferences
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.spaces.darts.genotypes import CHOICES
from firstlight.spaces.darts.network import DartsSkeleton
from firstlight.spaces.darts.supernet import DartsOneShot
from firstlight.spaces.supernets import set_weights

NODES = range(2, 6)
SKELETON = DartsSkeleton((3, 8, 8), classes=5, channels=2, cells=4, pooled=1)  # normal, reduce, reduce, normal
Path = dict[tuple[str, int], tuple[int, str]]  # the input of each node of each kind of cell, and the operation on it


# ---------------------------------------- a path, computed by hand


def weights_of(module: nn.Module) -> list[Tensor]:
    return [layer.weight for layer in module.modules() if isinstance(layer, nn.Conv2d)]


def normed(x: Tensor) -> Tensor:
    return (x - x.mean((0, 2, 3), keepdim=True)) / (x.var((0, 2, 3), correction=0, keepdim=True) + 1e-5).sqrt()


def separable(x: Tensor, depthwise: Tensor, pointwise: Tensor, dilation: int) -> Tensor:
    padding = dilation * (depthwise.shape[-1] // 2)
    x = F.conv2d(x.relu(), depthwise, padding=padding, dilation=dilation, groups=x.shape[1])
    return normed(F.conv2d(x, pointwise))


def operation(name: str, x: Tensor, weights: list[Tensor]) -> Tensor:
    if name == "skip_connect":
        return x
    if name == "max_pool_3x3":
        return normed(F.max_pool2d(x, 3, 1, 1))
    if name == "avg_pool_3x3":
        return normed(F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))
    assert weights[0].shape[-1] == int(name[-1])
    for depthwise, pointwise in zip(weights[::2], weights[1::2], strict=True):
        x = separable(x, depthwise, pointwise, dilation=2 if name.startswith("dil") else 1)
    return x


def cell_by_hand(cell: nn.Module, kind: str, path: Path, older: Tensor, newer: Tensor) -> Tensor:
    states = [
        normed(F.conv2d(x.relu(), *weights_of(layer))) for x, layer in ((older, cell.first), (newer, cell.second))
    ]
    for node in NODES:
        source, name = path[kind, node]
        _, mixed = cell.edges[str(node)]
        states.append(operation(name, states[source], weights_of(mixed.operations[name])))
    return torch.cat(states[2:], 1)


def network_by_hand(network: nn.Module, path: Path, x: Tensor) -> Tensor:
    older = newer = normed(F.conv2d(x, *weights_of(network.stems), padding=1))
    for cell, kind in zip(network.cells, ("normal", "reduce", "reduce", "normal"), strict=True):
        if kind == "reduce":
            older, newer = F.max_pool2d(older, 2), F.max_pool2d(newer, 2)
        older, newer = newer, cell_by_hand(cell, kind, path, older, newer)
    return newer.mean((2, 3)) @ network.classifier.weight.T + network.classifier.bias


def random_path(seed: int) -> Path:
    """All seven operations are on it somewhere."""
    rng = random.Random(seed)
    names = [*CHOICES, rng.choice(CHOICES)]
    rng.shuffle(names)
    places = [(kind, node) for kind in ("normal", "reduce") for node in NODES]
    return {(kind, node): (rng.randrange(node), names.pop()) for kind, node in places}


@pytest.mark.parametrize("seed", range(3))
def test_a_path_computes_what_it_says(seed: int) -> None:
    own, path = DartsOneShot(), random_path(seed)
    network = own.build(SKELETON).double()
    for (kind, node), (source, name) in path.items():
        set_weights(network, f"inputs of {kind} {node}", [float(state == source) for state in range(node)])
        set_weights(network, f"operation of {kind} {node}", {other: float(other == name) for other in CHOICES})
    x = images().double()
    torch.testing.assert_close(network(x), network_by_hand(network, path, x))


def test_inputs_are_mixed_before_operations() -> None:
    """With two inputs of weight 1 and a pool, the node is the pool of their sum, not the sum of two pools."""
    network = DartsOneShot().build(SKELETON).double()
    read, mixed = network.cells[0].edges["2"]
    set_weights(network, "inputs of normal 2", (1.0, 0.5))
    set_weights(network, "operation of normal 2", {name: float(name == "max_pool_3x3") for name in CHOICES})
    x, y = torch.randn(2, 4, 2, 6, 6, dtype=torch.float64)
    torch.testing.assert_close(mixed(read([x, y])), normed(F.max_pool2d(x + 0.5 * y, 3, 1, 1)))


def test_cells_have_no_gains_and_shifts() -> None:
    network = DartsOneShot().build(SKELETON)
    assert all(parameter.ndim > 1 for parameter in network.cells.parameters())
    assert network.stems[0][1].weight is not None


# ---------------------------------------- skeletons


def test_the_skeleton_is_that_of_networks_with_pooling_before_reductions() -> None:
    of_networks = DartsSkeleton((1, 64, 64), classes=7, channels=4, cells=5, auxiliary=1, rectified=1)
    assert DartsOneShot().skeleton(of_networks) == replace(of_networks, pooled=1, auxiliary=0)


def test_without_that_pooling_it_is_refused() -> None:
    with pytest.raises(SettingError, match=r"pooled=0.*only with pooled=1"):
        DartsOneShot().build(replace(SKELETON, pooled=0))


# ---------------------------------------- genotypes


@given(seed=st.integers(0, 2**32))
def test_a_node_keeps_its_two_best_inputs_and_operations_in_pairs(seed: int) -> None:
    own = DartsOneShot()
    preferences = random_preferences(own, seed)
    genotype = own.architecture(preferences)
    for kind, cell in (("normal", genotype.normal), ("reduce", genotype.reduce)):
        for node in NODES:
            edges = cell.edges_of(node - 2)
            of_inputs, of_operations = (preferences[f"{what} of {kind} {node}"] for what in ("inputs", "operation"))
            assert [of_inputs[source] for _, source in edges] == sorted(of_inputs)[:-3:-1]
            assert [of_operations[CHOICES.index(name)] for name, _ in edges] == sorted(of_operations)[:-3:-1]


def test_one_of_each_is_on_a_path_and_two_in_a_genotype() -> None:
    own = DartsOneShot()
    assert len(own.choices) == 16
    assert {(choice.sampled, choice.taken) for choice in own.choices} == {(1, 2)}
    assert [len(choice.options) for choice in own.choices] == [2, 7, 3, 7, 4, 7, 5, 7] * 2
    assert isinstance(firstlight.space("darts").one_shot(), DartsOneShot)
