"""What a supernet is: a space whose architectures are states of one and the same weight-sharing network."""

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
    """The supernet of a space. Its networks contain what is left in a state, and nothing else."""

    layout: Layout
    fewest_cells: int  # so many cells a network must have that there is one of each kind

    def architecture(self, state: State) -> Architecture:
        """What a state has come to when all is decided: an architecture of the ordinary space."""
        if state.undecided or state.crowded:
            raise SettingError(
                f"{state} is no architecture yet: {len(state.undecided)} edges have several operations, and "
                f"{len(state.crowded)} nodes too many edges."
            )
        return self.decided(
            {place: state.operations(place)[0] for place in self.layout.places if state.operations(place)}
        )

    @abstractmethod
    def decided(self, operations: Mapping[Place, str]) -> Architecture:
        """The architecture with these operations on its edges, which come in the order of the layout."""

    def sample(self, rng: random.Random) -> State:
        """Any choice of operations on each edge, uniformly; edges that may be missing are there or not."""
        return self.layout.sample(rng)

    def mutate(self, architecture: State, rng: random.Random) -> State:
        """One operation more or less on one edge."""
        place = rng.choice([place for place in self.layout.places if architecture.operations(place)])
        there = architecture.operations(place)
        changed = [name for name in self.layout.operations if there != (name,)]  # an edge is left with something
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
        """A ready network. Each layer's weights are drawn by themselves and named by where it is, so that a layer has
        the same weights in all states that contain it."""
        if isinstance(architecture, str):
            architecture = self.parse(architecture)
        network = self.network(architecture, skeleton or self.skeleton())
        fill_by_name(network, self.name, seed, initialization)
        return network.to(device)
