"""Weight-sharing networks of spaces, as far as they can be trained and lend their weights to architectures.

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
    """Which part of a weight-sharing network is trained in each step, counted from 0."""

    name: str

    @abstractmethod
    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        """Set the network to what is trained in this step."""


class Shared(ABC):
    """What a space's weight-sharing network is, how it is trained, and how an architecture inherits from it."""

    name: str
    recipe: ClassVar[Mapping[str, Any]]  # settings of the recipe that it is trained by unless told otherwise
    policies: tuple[str, ...]  # which paths can be trained; the first unless told otherwise
    frozen: bool  # whether subnets are frozen unless told otherwise

    @abstractmethod
    def network(self, skeleton: Any, *, seed: int = 0) -> nn.Module:
        """The whole network with weights that are a pure function of the seed."""

    @abstractmethod
    def policy(self, name: str = "") -> PathPolicy:
        """What is trained in each step, by its name."""

    @abstractmethod
    def subnet(self, network: nn.Module, architecture: Any, *, frozen: bool | None = None) -> nn.Module:
        """A module for proxies that computes what the network does with the path of the architecture taken.

        It uses the weights of the network and copies none. If it is frozen, only the final layer can be trained.
        """
