"""Supernets: spaces whose architectures are states of one weight-sharing network."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping

import torch
from torch import nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.supernets.one_shot import fill_by_name
from firstlight.spaces.supernets.state import Layout, Place, State


class Supernet(Space[State]):
    """The supernet of a space. Its networks contain the operations that are left in a state.

    Attributes:
        layout: The edges and operations.
        fewest_cells: Cells that a network must have to contain one of each kind.
    """

    layout: Layout
    fewest_cells: int

    def architecture(self, state: State) -> Architecture:
        """Return the architecture of the ordinary space that a decided state stands for.

        Raises:
            SettingError: If an edge has several operations left, or a node too many edges.
        """
        if state.undecided or state.crowded:
            raise SettingError(
                f"{state} is not an architecture yet: {len(state.undecided)} edges have several operations, and "
                f"{len(state.crowded)} nodes have too many edges."
            )
        return self.decided(
            {place: state.operations(place)[0] for place in self.layout.places if state.operations(place)}
        )

    @abstractmethod
    def decided(self, operations: Mapping[Place, str]) -> Architecture:
        """Return the architecture with the given operations on its edges, in the order of the layout."""

    def sample(self, rng: random.Random) -> State:
        """Return a random state: any set of operations on each edge. Edges that may be missing are so at random."""
        return self.layout.sample(rng)

    def mutate(self, architecture: State, rng: random.Random) -> State:
        """Add or remove one operation on one edge."""
        place = rng.choice([place for place in self.layout.places if architecture.operations(place)])
        there = architecture.operations(place)
        changed = [name for name in self.layout.operations if there != (name,)]  # an edge keeps at least one
        operation = rng.choice(changed)
        if operation in there:
            return architecture.without(place, operation)
        return architecture.keeping(place, *there, operation)

    def parse(self, text: str) -> State:
        return self.layout.parse(text)

    def canonical(self, architecture: State) -> State:
        return architecture

    def build(
        self,
        architecture: State | str,
        skeleton: Skeleton | None = None,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """Build a network; see `Space.build`.

        The weights of a layer depend on its name, so that they are the same in all states that contain the layer.
        """
        if isinstance(architecture, str):
            architecture = self.parse(architecture)
        network = self.network(architecture, skeleton or self.skeleton())
        fill_by_name(network, self.name, seed, initialization)
        return network.to(device)
