"""One-shot networks: everything that a space leaves open is open at once, each choice a weighted sum of its options.

choice      what is decided, the same in every cell of a kind: an operation on an edge, the inputs of a node
point       a module of the network at which a choice makes itself felt, one in each cell
preferences one number for each option of each choice; an architecture is read off them
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from firstlight.core.seeds import torch_generator
from firstlight.spaces.base import Architecture, Skeleton
from firstlight.spaces.ops import initialize


@dataclass(frozen=True)
class Choice:
    """`taken` of the options are in an architecture, and `sampled`, by default as many, on one path of the network.

    Points of the network know the choice by its name.
    """

    name: str
    options: tuple[str, ...]
    taken: int = 1
    sampled: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampled", self.sampled or self.taken)

    @property
    def even_weights(self) -> dict[str, float]:
        """Of options none of which is preferred: what a softmax of equal numbers gives."""
        return dict.fromkeys(self.options, 1 / len(self.options))

    def best(self, preferences: Preferences) -> list[str]:
        """The options with the highest preferences, as many as are taken; the most preferred first."""
        ranked = sorted(zip(self.options, preferences[self.name], strict=True), key=lambda option: -option[1])
        return [option for option, _ in ranked[: self.taken]]


Preferences = Mapping[str, Sequence[float]]  # by the name of the choice, in the order of its options


class OneShot(ABC):
    """The one-shot network of a space: its choices, the network, and how an architecture is read off preferences."""

    name: str
    choices: tuple[Choice, ...]

    def skeleton(self, of_networks: Skeleton) -> Skeleton:
        """The skeleton to search in, where networks by themselves have another one; by default there is no other."""
        return of_networks

    @abstractmethod
    def network(self, skeleton: Any) -> nn.Module:
        """The network with all options at every point, its weights not yet filled."""

    @abstractmethod
    def architecture(self, preferences: Preferences) -> Architecture:
        """What is preferred most."""

    def build(
        self,
        skeleton: Skeleton,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """A ready network, in training mode."""
        network = self.network(skeleton)
        fill_by_name(network, self.name, seed, initialization)
        return network.to(device)


def fill_by_name(network: nn.Module, title: str, seed: int, initialization: str) -> None:
    """Draw each layer's weights by themselves, from its name: what else the network has does not change them."""
    for name, layer in network.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            initialize(layer, torch_generator(seed, title, name, "weights"), initialization)
