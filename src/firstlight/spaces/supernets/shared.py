"""Weight-sharing networks that can be trained, and from which architectures inherit weights.

shared = firstlight.space("nasbench201").shared()
network = shared.network(skeleton, seed=0)
train_shared(network, batches, steps, shared.policy(), recipe_for(shared), seed=0)
model = shared.subnet(network, architecture)
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn


class PathPolicy(ABC):
    """Which part of a weight-sharing network is trained in each step."""

    name: str

    @abstractmethod
    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        """Set the network to the part that is trained in this step, counted from 0."""


class Shared(ABC):
    """The weight-sharing network of a space: how it is trained, and how an architecture inherits from it.

    Attributes:
        name: Name of the space.
        recipe: Settings of the default training recipe.
        policies: Names of the path policies; the first is the default.
        frozen: Whether subnets are frozen by default.
    """

    name: str
    recipe: ClassVar[Mapping[str, Any]]
    policies: tuple[str, ...]
    frozen: bool

    @abstractmethod
    def network(self, skeleton: Any, *, seed: int = 0) -> nn.Module:
        """Return the whole network. Its weights are a pure function of the seed."""

    @abstractmethod
    def policy(self, name: str = "") -> PathPolicy:
        """Return a path policy by its name; the default if the name is empty."""

    @abstractmethod
    def subnet(self, network: nn.Module, architecture: Any, *, frozen: bool | None = None) -> nn.Module:
        """Return a module that computes what the network does along the path of an architecture.

        Args:
            network: The whole network, whose weights the subnet shares.
            architecture: The architecture.
            frozen: Whether only the final layer can be trained; None for the default.
        """
