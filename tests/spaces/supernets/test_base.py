"""Networks of supernets: the published one, what stand-alone networks compute, and what all states share."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tests.reference import pattern
from tests.spaces.records import assert_probes, records
from tests.spaces.supernets.test_state import EDGE, decided, every_supernet
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.spaces.base import Space
from firstlight.spaces.darts.genotypes import Cell, Genotype
from firstlight.spaces.darts.supernet import EDGES, KINDS, DartsSupernet, DartsSupernetWithNone, decode
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.supernets import MixedEdge, Place, State, Supernet, set_weights
from firstlight.testing.spaces import runs_everywhere

RECORDS = [record for record in records("supernets") if record["net"] == "darts_search"]
SMALL: dict[str, dict[str, Any]] = {
    "nasbench201-supernet": {"channels": 4, "cells": 1, "input_shape": (3, 8, 8)},
    "darts-supernet": {"channels": 4, "cells": 3, "input_shape": (3, 8, 8)},
    "darts-supernet-with-none": {"channels": 4, "cells": 3, "input_shape": (3, 8, 8)},
}


def build(supernet: Supernet, state: State, **settings: Any) -> nn.Module:
    return supernet.build(state, supernet.skeleton(**SMALL[supernet.name] | settings))


# ---------------------------------------- the search network of DARTS


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"C{record['C']}-L{record['layers']}")
def test_the_search_network_is_the_published_one(record: dict[str, Any]) -> None:
    supernet = DartsSupernetWithNone()
    full = supernet.layout.full
    skeleton = supernet.skeleton(channels=record["C"], cells=record["layers"], rectified=0)
    assert supernet.cost(full, skeleton).params == record["params"]
    weights = {"normal": pattern(14, 8).softmax(1), "reduce": pattern(28, 8)[14:].softmax(1)}
    genotype = decode(weights["normal"].tolist(), weights["reduce"].tolist())
    assert [list(edge) for edge in genotype.normal.edges] == record["decoded_normal"]
    assert [list(edge) for edge in genotype.reduce.edges] == record["decoded_reduce"]
    if "probe" in record:
        network = supernet.build(full, skeleton)
        for kind in KINDS:
            for edge, row in zip(EDGES, weights[kind].tolist(), strict=True):
                set_weights(network, Place(kind, *edge), row)
        assert assert_probes(network, [2, 3, 32, 32], record["probe"]) == 2


def test_there_are_probes() -> None:
    assert sum("probe" in record for record in RECORDS) == 1
    assert len(RECORDS) == 3


# ---------------------------------------- one operation on each edge


@pytest.mark.parametrize("seed", range(3))
def test_a_decided_cell_of_nasbench201_computes_what_the_network_does(seed: int) -> None:
    supernet, space = Supernet201(), firstlight.space("nasbench201")
    state = decided(supernet, seed)
    ours = build(supernet, state)
    theirs = space.build(str(state), space.skeleton(**SMALL[supernet.name]), seed=5)
    for (_, our), (_, their) in zip(_layers(ours), _layers(theirs), strict=True):
        their.load_state_dict(our.state_dict())
    assert_same(ours, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_decided_cells_of_darts_compute_what_the_network_does(seed: int) -> None:
    """Where there are no pools: those have a BatchNorm in search networks only."""
    supernet, space = DartsSupernet(), firstlight.space("darts")
    rng = random.Random(seed)
    state = decided(supernet, seed)
    for place in supernet.layout.places:
        if "pool" in "".join(state.operations(place)):
            state = state.keeping(place, rng.choice(("skip_connect", "sep_conv_3x3", "dil_conv_5x5")))
    ours = build(supernet, state)
    settings = SMALL[supernet.name] | {"rectified": 1}
    theirs = space.build(supernet.architecture(state), space.skeleton(**settings), seed=5)
    for (_, our), (_, their) in zip(_layers(ours), _layers(theirs), strict=True):
        their.load_state_dict(our.state_dict(), strict=False)  # gains and shifts are 1 and 0
    assert_same(ours, theirs)


def _layers(network: nn.Module) -> list[tuple[str, nn.Module]]:
    kinds = (nn.Conv2d, nn.Linear, nn.BatchNorm2d)
    return [(name, module) for name, module in network.named_modules() if isinstance(module, kinds)]


def assert_same(ours: nn.Module, theirs: nn.Module) -> None:
    x = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(ours(x), theirs(x))
    assert torch.equal(ours.eval()(x), theirs.eval()(x))


def test_pools_are_normalized_in_the_search_network_of_darts_only() -> None:
    state = DartsSupernet().layout.full.keeping(EDGE, "max_pool_3x3")
    (edge,) = [edge for edge in mixed_edges(build(DartsSupernet(), state)) if edge.place == EDGE]
    x = torch.randn(4, 4, 6, 6)
    out = edge(x)
    torch.testing.assert_close(out.mean((0, 2, 3)), torch.zeros(4), atol=1e-6, rtol=0)
    expected = nn.functional.batch_norm(nn.functional.max_pool2d(x, 3, 1, 1), None, None, training=True)
    torch.testing.assert_close(out, expected)


# ---------------------------------------- what is there, and what it weighs


def mixed_edges(network: nn.Module) -> list[MixedEdge]:
    return [module for module in network.modules() if isinstance(module, MixedEdge)]


@every_supernet
def test_networks_run_and_cost_what_they_cost(supernet: Supernet) -> None:
    skeleton = supernet.skeleton(**SMALL[supernet.name])
    for state in (supernet.layout.full, supernet.sample(random.Random(0))):
        assert supernet.cost(state, skeleton) == Space.cost(supernet, state, skeleton)
    runs_everywhere(supernet, supernet.layout.full, skeleton)


@every_supernet
def test_layers_have_the_same_weights_in_all_states(supernet: Supernet) -> None:
    full = build(supernet, supernet.layout.full).state_dict()
    states = [supernet.sample(random.Random(seed)) for seed in range(3)]
    states += [decided(supernet, 0)]
    for state in states:
        own = build(supernet, state).state_dict()
        assert own.keys() < full.keys()
        assert all(torch.equal(own[name], full[name]) for name in own)
    other = supernet.build(states[0], supernet.skeleton(**SMALL[supernet.name]), seed=1).state_dict()
    assert not torch.equal(other["classifier.weight"], full["classifier.weight"])
    convolutions = [tensor.flatten()[0].item() for name, tensor in full.items() if tensor.ndim == 4]
    assert len(set(convolutions)) == len(convolutions)  # no two layers share theirs


@every_supernet
def test_what_is_removed_is_not_run(supernet: Supernet) -> None:
    """Counted by hooks: a removal takes as many runs away as the operation had, in each cell of the kind."""
    place, removed = supernet.layout.places[1], "skip_connect"
    full = runs(build(supernet, supernet.layout.full), place)
    fewer = runs(build(supernet, supernet.layout.full.without(place, removed)), place)
    assert full[removed] > 0
    assert fewer == {name: count for name, count in full.items() if name != removed}


def runs(network: nn.Module, place: Place) -> dict[str, int]:
    counts: dict[str, int] = {}

    def watch(name: str, operation: nn.Module) -> None:
        counts.setdefault(name, 0)

        def count(*_: object) -> None:
            counts[name] += 1

        operation.register_forward_hook(count)

    for edge in mixed_edges(network):
        if edge.place == place:
            for name, operation in edge.operations.items():
                watch(name, operation)
    network(torch.randn(2, 3, 8, 8))
    return counts


def test_an_operation_of_weight_0_is_not_run_and_others_are_added_up() -> None:
    edge = MixedEdge("any", {"one": nn.Identity(), "two": nn.ReLU()}, {"one": 0.25, "two": 0.5})
    x = torch.randn(2, 3, 4, 4)
    torch.testing.assert_close(edge(x), 0.25 * x + 0.5 * x.relu())
    edge.operations["two"].register_forward_hook(lambda *_: pytest.fail("it was run"))
    set_weights(edge, "any", {"one": 2.0, "two": 0.0})
    torch.testing.assert_close(edge(x), 2 * x)
    set_weights(edge, "any", (0.0, 0.0))
    assert not edge(x).any()


def test_weights_may_be_differentiated_even_where_they_are_0() -> None:
    """As a straight-through sample needs it: the value is that of one operation, the gradient that of all."""
    edge = MixedEdge("any", {"one": nn.Identity(), "two": nn.ReLU()}, {"one": 1.0, "two": 1.0})
    logits = torch.zeros(2, requires_grad=True)
    soft = logits.softmax(0)
    hard = torch.tensor([1.0, 0.0])
    set_weights(edge, "any", list((hard - soft.detach() + soft).unbind()))
    x = torch.randn(2, 3, 4, 4)
    out = edge(x)
    torch.testing.assert_close(out, x)
    out.sum().backward()
    expected = torch.tensor([x.sum(), x.relu().sum()])
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, 0.5 * (expected - expected.mean()))


# ---------------------------------------- what a ReLU at the end is for


def change(network: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float((network(x) - network(y)).abs().max())


@pytest.mark.parametrize("operation", ["sep_conv_3x3", "skip_connect"])
def test_without_the_last_relu_one_image_is_like_another(operation: str) -> None:
    """Of the search network, and of a genotype without pools; that is why supernets have that ReLU by default."""
    space = firstlight.space("darts")
    cell = Cell(tuple((operation, source) for _ in range(4) for source in (0, 1)))
    x, y = torch.randn(2, 1, 3, 16, 16, dtype=torch.float64)
    supernet = DartsSupernet()
    for rectified, moves in ((0, False), (1, True)):
        settings = {"channels": 2, "cells": 3, "input_shape": (3, 16, 16), "rectified": rectified}
        for network in (
            space.build(Genotype(cell, cell), space.skeleton(**settings)),
            supernet.build(supernet.layout.full, supernet.skeleton(**settings)),
        ):
            assert (change(network.double(), x, y) > 1e-9) == moves
    assert supernet.skeleton() == supernet.skeleton(rectified=1) != space.skeleton()


# ---------------------------------------- which spaces have one


def test_spaces_offer_their_supernets() -> None:
    assert isinstance(firstlight.space("nasbench201").supernet(), Supernet201)
    assert type(firstlight.space("darts").supernet()) is DartsSupernet
    with pytest.raises(
        SettingError, match=r"'nasbench101' has no supernet.*one of darts, nasbench201, or an algorithm"
    ):
        firstlight.space("nasbench101").supernet()
