"""Correlations between samples: of what enters the ReLUs, and of its gradients, with a weight for each block."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.probe.blocks import blocks_of
from firstlight.probe.observe import hooked
from firstlight.probe.rectifiers import rectifiers_of


def correlations(rows: Tensor) -> Tensor:
    """Return the Pearson correlations between rows; a constant row has the correlation 0."""
    centred = rows - rows.mean(1, keepdim=True)
    norms = torch.linalg.vector_norm(centred, dim=1, keepdim=True)
    unit = torch.where(norms == 0, 0.0, centred / norms)
    return unit @ unit.T


def block_numbers(model: nn.Module) -> dict[nn.Module, int]:
    """Return for each ReLU the number of the block that it is in, from 0; for others that of blocks before it."""
    blocks = blocks_of(model)
    order = {module: place for place, module in enumerate(model.modules())}
    inside = {module: number for number, block in enumerate(blocks) for module in block.modules()}
    return {
        relu: inside.get(relu, sum(order[block] < order[relu] for block in blocks)) for relu in rectifiers_of(model)
    }


class ResponseRecorder:
    """Adds up absolute correlations of the inputs of ReLUs, and of their gradients in the backward pass.

    Args:
        numbers: The number of the block of each ReLU; it counts with 2 to this power.
        samples: The number of samples.

    Attributes:
        total: The weighted sum of the matrices, shape (samples, samples).
    """

    def __init__(self, numbers: Mapping[nn.Module, int], samples: int) -> None:
        self._numbers = numbers
        self.total = torch.zeros(samples, samples, dtype=torch.float64)

    def watching(self) -> AbstractContextManager[None]:
        return hooked(self._numbers, self._see, before=True)

    def _see(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x = inputs[0].clone()  # the ReLU may work in place
        weight = 2.0 ** self._numbers[module]
        self._add(weight, x)
        if x.requires_grad:
            x.register_hook(lambda gradient: self._add(weight, gradient))
        return x, *inputs[1:]

    def _add(self, weight: float, values: Tensor) -> None:
        self.total += weight * correlations(values.detach().flatten(1).double()).abs().cpu()
