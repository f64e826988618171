"""Spaces of a user's own, at the top level of a module, so that worker processes can import them."""

from __future__ import annotations

import itertools
import math
from typing import Any

from torch import nn

import firstlight


@firstlight.choices(width=(4, 8, 16), depth=(1, 2), activation={"relu": nn.ReLU, "gelu": nn.GELU})
def perceptron(width: int, depth: int, activation: Any, input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Perceptrons of one or two hidden layers."""
    sizes = [math.prod(input_shape), *[width] * depth]
    layers = [layer for pair in itertools.pairwise(sizes) for layer in (nn.Linear(*pair), activation())]
    return nn.Sequential(nn.Flatten(), *layers, nn.Linear(width, classes))


def strided(*, kernel: int, stride: int = 1, bias: bool = True) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, kernel, stride, bias=bias), nn.BatchNorm2d(4), nn.Flatten(), nn.LazyLinear(10))


def no_space() -> None: ...
