"""The weight-sharing networks of DARTS.

supernet   seven operations, or eight with `none`, on all fourteen edges of both cells
one-shot   as NASI searches: one mixture of inputs and one of operations in each of the four nodes of both cells
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.darts.genotypes import CHOICES, NODES, OPERATIONS, Cell, Edge, Genotype
from firstlight.spaces.darts.network import (
    CellPlace,
    DartsNetwork,
    DartsSkeleton,
    PlacedEdge,
    Wiring,
    darts_cost,
    make_operation,
)
from firstlight.spaces.supernets.base import Supernet
from firstlight.spaces.supernets.mixed import MixedEdge, MixedInputs
from firstlight.spaces.supernets.one_shot import Choice, OneShot, Preferences
from firstlight.spaces.supernets.state import Layout, Place, State

KINDS = ("normal", "reduce")
EDGES = tuple((target, source) for target in range(2, 2 + NODES) for source in range(target))
CONCAT = tuple(range(2, 2 + NODES))


class DartsSupernet(Supernet):
    """The search network of DARTS: BatchNorms in cells are not affine, and one follows each pooling.

    With `rectified=0` it is that of Zero-Cost-PT, which leaves out `none`.
    """

    name = "darts-supernet"
    summary = "states of the weight-sharing network of DARTS: any of seven operations on any of two times 14 edges"
    reference = "Liu2019darts"
    skeleton_type = DartsSkeleton
    layout = Layout(KINDS, EDGES, CHOICES, kept=2)
    fewest_cells = 3

    def skeleton(self, **settings: Any) -> Skeleton:
        """Return the skeleton, by default with a ReLU before the global pooling.

        Without it, each channel has mean 0 after the last cell, and proxies that use the output, such as Dextr's
        curvature and TE-NAS's kernel, would measure nothing but rounding errors.
        """
        return super().skeleton(**({"rectified": 1} | settings))

    def decided(self, operations: Mapping[Place, str]) -> Genotype:
        cells = (
            tuple((name, place.source) for place, name in operations.items() if place.kind == kind) for kind in KINDS
        )
        return Genotype(*map(Cell, cells))

    def network(self, architecture: State, skeleton: DartsSkeleton) -> nn.Module:
        return _search_network(skeleton, functools.partial(_wiring, architecture))

    def cost(self, architecture: State, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, without an auxiliary head."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, DartsSkeleton)
        edges: dict[str, list[Edge]] = {kind: [] for kind in KINDS}
        for place in architecture.layout.places:
            edges[place.kind] += [(name, place.source) for name in architecture.operations(place)]
        return darts_cost(skeleton, [edges[kind] for kind in KINDS], [NODES, NODES], gains=False)


class DartsSupernetWithNone(DartsSupernet):
    """With `rectified=0`, the search network of DARTS itself."""

    name = "darts-supernet-with-none"
    summary = "states of the weight-sharing network of DARTS with `none` as an eighth operation"
    layout = Layout(KINDS, EDGES, OPERATIONS, kept=2)


def _search_network(skeleton: DartsSkeleton, wire: Callable[[CellPlace], Wiring]) -> DartsNetwork:
    """Build a network whose cells have BatchNorms that are not affine."""
    network = DartsNetwork(skeleton, wire)
    for module in network.cells.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.affine = False
            module.register_parameter("weight", None)
            module.register_parameter("bias", None)
    return network


def _wiring(state: State, where: CellPlace) -> Wiring:
    kind = KINDS[where.reduces]
    nodes = [
        [_edge(state, place, where) for place in state.edges(node)] for node in state.layout.nodes if node[0] == kind
    ]
    return Wiring(nodes, CONCAT)


def _edge(state: State, place: Place, where: CellPlace) -> PlacedEdge:
    stride = where.stride(place.source)
    operations = {
        name: _search_operation(name, where.channels, stride) for name in state.operations(place) if name != "none"
    }
    mixed = MixedEdge(place, operations, state.weights(place), stride)
    return PlacedEdge(f"{place.source}-{place.target}", place.source, mixed)


def _search_operation(name: str, channels: int, stride: int) -> nn.Module:
    operation = make_operation(name, channels, stride)
    return nn.Sequential(operation, nn.BatchNorm2d(channels)) if "pool" in name else operation


def decode(normal: Sequence[Sequence[float]], reduce: Sequence[Sequence[float]]) -> Genotype:
    """Decode a genotype as DARTS does, from the weights of eight operations on the fourteen edges of each cell.

    The strength of an edge is the largest weight of its operations except `none`. A node keeps its two strongest edges,
    the stronger one first.
    """
    return Genotype(_decoded(normal), _decoded(reduce))


def _decoded(weights: Sequence[Sequence[float]]) -> Cell:
    best = [max(zip(row[1:], CHOICES, strict=True), key=lambda choice: choice[0]) for row in weights]
    edges: list[Edge] = []
    for node in CONCAT:
        into = [(*best[place], source) for place, (target, source) in enumerate(EDGES) if target == node]
        strongest = sorted(into, key=lambda edge: -edge[0])[:2]
        edges += [(name, source) for _, name, source in strongest]
    return Cell(tuple(edges))


# ---------------------------------------- the one-shot network


def node_choices(kind: str, node: int) -> tuple[Choice, Choice]:
    """Return the choices of a node of the one-shot network: its inputs and its operation."""
    return (
        Choice(f"inputs of {kind} {node}", tuple(map(str, range(node))), taken=2, sampled=1),
        Choice(f"operation of {kind} {node}", CHOICES, taken=2, sampled=1),
    )


class DartsOneShot(OneShot):
    """Chooses the inputs of a node separately from its operation; a path has one of each (Shu et al., 2022).

    A node of an architecture has two of each: the best operation reads the best input, the second best the second best.
    """

    name = "darts-one-shot"
    choices = tuple(choice for kind in KINDS for node in CONCAT for choice in node_choices(kind, node))

    def skeleton(self, of_networks: Skeleton) -> DartsSkeleton:
        """Return the skeleton with max-pooling before reduction cells, so that any operation can read any input."""
        assert isinstance(of_networks, DartsSkeleton)
        if of_networks.cells < DartsSupernet.fewest_cells:
            raise SettingError(
                f"The one-shot network of DARTS needs at least {DartsSupernet.fewest_cells} cells, so that there is "
                f"one of each kind; the skeleton has cells={of_networks.cells}."
            )
        return replace(of_networks, pooled=1, auxiliary=0)

    def network(self, skeleton: DartsSkeleton) -> nn.Module:
        if not skeleton.pooled:
            raise SettingError(
                f"The one-shot network of DARTS cannot be built with {skeleton}. A node mixes its inputs, which have "
                "the same size only with pooled=1."
            )
        return _search_network(skeleton, _one_shot_wiring)

    def architecture(self, preferences: Preferences) -> Genotype:
        cells: list[Cell] = []
        for kind in KINDS:
            edges: list[Edge] = []
            for node in CONCAT:
                inputs, operations = (choice.best(preferences) for choice in node_choices(kind, node))
                edges += zip(operations, map(int, inputs), strict=True)
            cells.append(Cell(tuple(edges)))
        return Genotype(*cells)


def _one_shot_wiring(where: CellPlace) -> Wiring:
    nodes: list[list[PlacedEdge]] = []
    for node in CONCAT:
        inputs, operation = node_choices(KINDS[where.reduces], node)
        operations = {name: _search_operation(name, where.channels, stride=1) for name in CHOICES}
        read = MixedInputs(inputs.name, inputs.even_weights)
        apply = MixedEdge(operation.name, operations, operation.even_weights)
        nodes.append([PlacedEdge(str(node), None, nn.Sequential(read, apply))])
    return Wiring(nodes, CONCAT)
