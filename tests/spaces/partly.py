"""Spaces of which some networks cannot be built or run, at the top level of a module for worker processes."""

from __future__ import annotations

import torch
from torch import nn

import firstlight


class Heads(nn.Module):
    def __init__(self, width: int, heads: int, channels: int, classes: int) -> None:
        super().__init__()
        self.heads = heads
        self.first = nn.Conv2d(channels, width, 3, 4)
        self.last = nn.Linear(width // heads, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.first(x).relu().mean((2, 3))
        return self.last(features.view(len(x), self.heads, features.shape[1] // self.heads).mean(1))


@firstlight.choices(width=(16, 24), heads=(2, 3))
def forward_fails(width: int, heads: int, input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Networks of which one cannot be run: 16 channels do not make three heads."""
    return Heads(width, heads, input_shape[0], classes)


@firstlight.choices(width=(16, 24), heads=(2, 3))
def build_fails(width: int, heads: int, input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """The same, and the function says so."""
    if width % heads:
        raise ValueError(f"{width} channels do not make {heads} heads")
    return Heads(width, heads, input_shape[0], classes)


@firstlight.choices(width=(16, 20), heads=(3, 7))
def none_can_be_built(width: int, heads: int, classes: int) -> nn.Module:
    raise ValueError(f"{width} channels do not make {heads} heads")
