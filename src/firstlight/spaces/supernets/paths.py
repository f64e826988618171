"""Which part of a weight-sharing network is trained in each step.

A policy is asked before every step, counted from 0, and sets the network to what it draws. `full` is the whole network,
`single-path` one operator and one source for each of its inputs, and `any-path` some sources.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from firstlight.core.errors import UnknownNameError
from firstlight.spaces.nasbench201.space import OPERATIONS
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.nasrec.blocks import ROWS, WIDTHS
from firstlight.spaces.nasrec.space import MOST_INPUTS, NasRec
from firstlight.spaces.nasrec.supernet import Path, SharedNetwork
from firstlight.spaces.supernets.mixed import set_weights

# Over so many forward passes, NASRec trains its whole network less and less often
FULL_PASSES = 15_000


class PathPolicy(ABC):
    name: str

    @abstractmethod
    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        """Set the network to what is trained in this step."""


def chance_of_all(passes: int, over: int = FULL_PASSES) -> float:
    """That the whole network is trained when so many forward passes have been made.

        p(c) = 1 - c / 15,000  for 0 < c < 15,000, else 0

    The first pass, c = 0, is the one in which the published network learns its shapes.
    """
    return 1 - passes / over if 0 < passes < over else 0.0


@dataclass(frozen=True)
class NasRecPaths(PathPolicy):
    """Connections and operators of all blocks, drawn from scratch in each step.

    As published, one draw decides for the connections of all blocks between everything and `connections`; each block
    decides for itself between all operators at their largest and one dense and one sparse operator, with the chance
    that the connections had a step before. `full_passes` 0 leaves out both draws.
    """

    space: NasRec
    name: str
    connections: Literal["any-path", "single-path", "full"]
    operators: Literal["single-path", "full"]
    full_passes: int = 0

    NAMES: ClassVar[tuple[str, ...]] = ("published", "any-path", "single-path", "full")

    @classmethod
    def named(cls, space: NasRec, name: str) -> NasRecPaths:
        if name == "full":
            return cls(space, name, "full", "full")
        if name == "single-path":
            return cls(space, name, "single-path", "single-path")
        if name in cls.NAMES:
            return cls(space, name, "any-path", "single-path", FULL_PASSES if name == "published" else 0)
        raise UnknownNameError("path policy", name, cls.NAMES)

    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        assert isinstance(network, SharedNetwork)
        network.take_paths(self.draw(step, rng))

    def draw(self, step: int, rng: random.Random) -> list[Path]:
        everything = self._all(step + 1, rng) or self.connections == "full"
        return [self._block(number, everything, step, rng) for number in range(self.space.blocks)]

    def _block(self, number: int, everything: bool, step: int, rng: random.Random) -> Path:
        whole = Path.whole(number, self.space.nodes)
        sources = whole.sources if everything else self._connections(number, rng)
        if self._all(step, rng) or self.operators == "full":
            return Path(whole.operators, whole.width, whole.rows, sources, whole.interaction, whole.fm)
        operators = (rng.choice(self.space.dense_operators), rng.choice(self.space.sparse_operators))
        return Path(operators, rng.choice(WIDTHS), rng.choice(ROWS), sources, rng.random() < 0.5, rng.random() < 0.5)

    def _all(self, passes: int, rng: random.Random) -> bool:
        return rng.random() < chance_of_all(passes, self.full_passes)

    def _connections(self, number: int, rng: random.Random) -> dict[str, list[int]]:
        return {
            "dense": self._sources(number, rng),
            "sparse": self._sources(number, rng),
            "left": [rng.randrange(number + 1)],
            "right": [rng.randrange(number + 1)],
        }

    def _sources(self, number: int, rng: random.Random) -> list[int]:
        """One, and each of three more, as far as there are, by the toss of a coin."""
        more = min(number, MOST_INPUTS - 1) if self.connections == "any-path" else 0
        count = 1 + sum(rng.random() < 0.5 for _ in range(more))
        return sorted(rng.sample(range(number + 1), count))


@dataclass(frozen=True)
class CellPaths(PathPolicy):
    """NAS-Bench-201: one operation on each edge, uniformly, the same in all cells; or all of them, with the weights of
    the full state."""

    name: str

    NAMES: ClassVar[tuple[str, ...]] = ("single-path", "full")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise UnknownNameError("path policy", self.name, self.NAMES)

    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        full = Supernet201.layout.full
        for place in full.layout.places:
            chosen = rng.choice(OPERATIONS)
            alone = {name: float(name == chosen) for name in OPERATIONS}
            set_weights(network, place, full.weights(place) if self.name == "full" else alone)
