"""One-shot networks: all options of all choices at once, each choice as a weighted sum of its options.

choice       what is decided, for all cells of a kind: an operation on an edge, or the inputs of a node
point        a module of the network that holds a choice, one in each cell
preferences  one number for each option of each choice, from which an architecture is derived
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
    """A choice.

    Args:
        name: Name of the choice, by which points of the network refer to it.
        options: The options.
        taken: Options in an architecture.
        sampled: Options on one path through the network; by default as many as are taken.
    """

    name: str
    options: tuple[str, ...]
    taken: int = 1
    sampled: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampled", self.sampled or self.taken)

    @property
    def even_weights(self) -> dict[str, float]:
        """Equal weights for all options: the softmax of equal preferences."""
        return dict.fromkeys(self.options, 1 / len(self.options))

    def best(self, preferences: Preferences) -> list[str]:
        """Return the `taken` options with the highest preferences, best first."""
        ranked = sorted(zip(self.options, preferences[self.name], strict=True), key=lambda option: -option[1])
        return [option for option, _ in ranked[: self.taken]]


Preferences = Mapping[str, Sequence[float]]  # by the name of the choice, in the order of its options


class OneShot(ABC):
    """The one-shot network of a space: its choices, the network, and how preferences become an architecture."""

    name: str
    choices: tuple[Choice, ...]

    def skeleton(self, of_networks: Skeleton) -> Skeleton:
        """Return the skeleton of the one-shot network; by default that of stand-alone networks."""
        return of_networks

    @abstractmethod
    def network(self, skeleton: Any) -> nn.Module:
        """Return the network with all options at every point, its weights not initialized."""

    @abstractmethod
    def architecture(self, preferences: Preferences) -> Architecture:
        """Return the architecture of the preferred options."""

    def build(
        self,
        skeleton: Skeleton,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """Build the network with initialized weights, in training mode; see `Space.build`."""
        network = self.network(skeleton)
        fill_by_name(network, self.name, seed, initialization)
        return network.to(device)


def fill_by_name(network: nn.Module, title: str, seed: int, initialization: str) -> None:
    """Initialize each layer by its name, so that its weights do not depend on the other layers."""
    for name, layer in network.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            initialize(layer, torch_generator(seed, title, name, "weights"), initialization)
