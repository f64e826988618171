"""Shared weights of a NASRec space: how they are trained, and how a network inherits its part of them.

Path policies: `full` trains the whole network; `single-path` one operator of each kind and one source for each of its
inputs; `any-path` several sources; `published` is `any-path`, and the whole network less and less often.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import nn

from firstlight.core.errors import UnknownNameError
from firstlight.core.seeds import torch_generator
from firstlight.spaces.nasrec.blocks import MOST_INPUTS, ROWS, WIDTHS, BlockOptions, Recommender
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.subnet import Subnet
from firstlight.spaces.nasrec.supernet import Path, SharedNetwork
from firstlight.spaces.ops import initialize
from firstlight.spaces.supernets.shared import PathPolicy, Shared

# Forward passes over which NASRec trains its whole network less and less often
FULL_PASSES = 15_000


def chance_of_all(passes: int, over: int = FULL_PASSES) -> float:
    """Return the probability of training the whole network after c forward passes.

        p(c) = 1 - c / 15,000  for 0 < c < 15,000, else 0

    In the first pass, c = 0, the published network infers its shapes.
    """
    return 1 - passes / over if 0 < passes < over else 0.0


@dataclass(frozen=True)
class NasRecPaths(PathPolicy):
    """Draws the connections and operators of all blocks in each step.

    As published, one draw for all blocks decides between all connections and the policy of `connections`. A draw for
    each block decides between all operators at their largest and one dense and one sparse operator, with the
    probability that the connections had one step before. `full_passes` 0 leaves out these draws.
    """

    space: BlockOptions
    name: str
    connections: Literal["any-path", "single-path", "full"]
    operators: Literal["single-path", "full"]
    full_passes: int = 0

    NAMES: ClassVar[tuple[str, ...]] = ("published", "any-path", "single-path", "full")

    @classmethod
    def named(cls, space: BlockOptions, name: str) -> NasRecPaths:
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
        """Draw one source, and up to three more with probability 1/2 each."""
        more = min(number, MOST_INPUTS - 1) if self.connections == "any-path" else 0
        count = 1 + sum(rng.random() < 0.5 for _ in range(more))
        return sorted(rng.sample(range(number + 1), count))


class SharedNasRec(Shared):
    """The shared weights of a NASRec space. Proxies see all layers of a subnet, as in the paper."""

    # as NASRec and SiGeo train theirs
    recipe: ClassVar[Mapping[str, Any]] = {
        "optimizer": "adagrad",
        "learning_rate": 0.12,
        "batch_size": 512,
        "schedule": "warm-cosine",
    }
    policies = NasRecPaths.NAMES
    frozen = False

    def __init__(self, space: BlockOptions) -> None:
        self.space = space
        self.name = space.name

    def network(self, skeleton: NasRecSkeleton, *, seed: int = 0) -> SharedNetwork:
        network = SharedNetwork(self.space, skeleton)
        initialize(network, torch_generator(seed, self.name, "shared weights"))
        return network

    def policy(self, name: str = "") -> NasRecPaths:
        return NasRecPaths.named(self.space, name or self.policies[0])

    def subnet(self, network: nn.Module, architecture: Recommender, *, frozen: bool | None = None) -> Subnet:
        assert isinstance(network, SharedNetwork)
        return Subnet(network, architecture, frozen=self.frozen if frozen is None else frozen)
