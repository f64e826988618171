"""The supernet of NAS-Bench-201: five operations on each of the six edges."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.cells import EDGES, FourNodeCell
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.nasbench201.network import Skeleton201, StageTally, cost_of, make_operation, network_of
from firstlight.spaces.supernets.base import Supernet
from firstlight.spaces.supernets.mixed import MixedEdge
from firstlight.spaces.supernets.one_shot import Choice, OneShot, Preferences
from firstlight.spaces.supernets.state import Layout, Place, State


def edge_name(place: Place) -> str:
    return f"{place.source}-{place.target}"


class Supernet201(Supernet):
    """The network of NAS-Bench-201, with affine BatchNorms, and several operations on an edge."""

    name = "nasbench201-supernet"
    summary = "states of the weight-sharing network of NAS-Bench-201: any of five operations on each of six edges"
    reference = "Dong2020nasbench201"
    skeleton_type = Skeleton201
    layout = Layout(("cell",), EDGES, OPERATIONS)
    fewest_cells = 1

    def decided(self, operations: Mapping[Place, str]) -> Cell201:
        return Cell201(tuple(operations.values()))

    def network(self, architecture: State, skeleton: Skeleton201) -> nn.Module:
        return network_of(skeleton, lambda channels: _cell_network(architecture, channels))

    def cost(self, architecture: State, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, Skeleton201)

        def add_cell(tally: StageTally, channels: int) -> None:
            for operations in architecture.left:
                for operation in operations:
                    tally.operation(operation, channels, channels)

        return cost_of(skeleton, add_cell)


class OneShot201(OneShot):
    """Chooses one of five operations on each of six edges."""

    name = "nasbench201-one-shot"
    choices = tuple(Choice(edge_name(place), OPERATIONS) for place in Supernet201.layout.places)

    def network(self, skeleton: Skeleton201) -> nn.Module:
        full = Supernet201.layout.full
        network = network_of(skeleton, lambda channels: _cell_network(full, channels))
        for edge in network.modules():
            if isinstance(edge, MixedEdge) and isinstance(edge.place, Place):
                edge.place = edge_name(edge.place)
        return network

    def architecture(self, preferences: Preferences) -> Cell201:
        return Cell201(tuple(choice.best(preferences)[0] for choice in self.choices))


def _cell_network(state: State, channels: int) -> FourNodeCell:
    """Build a cell. An edge on which only `none` is left is missing, as in the stand-alone network."""
    edges: dict[tuple[int, int], nn.Module] = {}
    for place in state.layout.places:
        operations = {
            name: make_operation(name, channels, channels) for name in state.operations(place) if name != "none"
        }
        if operations:
            edges[place.target, place.source] = MixedEdge(place, operations, state.weights(place))
    return FourNodeCell(edges)
