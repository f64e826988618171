"""A space of networks that do their worker harm; workers import it by name."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn

import firstlight


class Hostile(nn.Module):
    def __init__(self, deed: str, width: int) -> None:
        super().__init__()
        self.deed = deed
        self.first, self.last = nn.Conv2d(3, width, 3), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "meta":  # where costs are counted
            if self.deed == "crash":
                ctypes.string_at(0)
            if self.deed == "hog":
                torch.ones(2**32)
        return self.last(torch.relu(self.first(x)).mean((2, 3)))  # type: ignore[no-any-return]


HOSTILE = firstlight.ChoiceSpace("hostile", Hostile, deed=("none", "crash", "hog"), width=(4,))
