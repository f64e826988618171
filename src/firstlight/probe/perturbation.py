"""How far features move when the input does, and how much BatchNorm scales them down on the way (Zen-score)."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked


class LastFeatures:
    """Keeps the last feature map of a forward pass: what global pooling, if there is any, gets to see.

    Pooling to a size, and maps of one pixel behind larger ones, are already behind it.
    """

    def __init__(self) -> None:
        self._last: Tensor | None = None

    def watching(self, model: nn.Module) -> AbstractContextManager[None]:
        leaves = [module for module in model.modules() if not any(True for _ in module.children())]
        return hooked(leaves, self._see)

    def _see(self, module: nn.Module, inputs: Any, output: Any) -> None:
        pools = isinstance(module, (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d))
        if not isinstance(output, Tensor) or output.ndim != 4 or pools:
            return
        if self._last is None or output.shape[2:].numel() > 1 or self._last.shape[2:].numel() == 1:
            self._last = output.detach().clone()  # what comes next may work in place

    def take(self) -> Tensor:
        if self._last is None:
            raise UnsupportedError("the network has no feature maps of images to measure a change in.")
        last, self._last = self._last, None
        return last


def log_batch_norm_scale(model: nn.Module) -> float:
    """Sum over BatchNorm layers of ln of the root of their mean running variance."""
    layers = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    variances = [float(layer.running_var.mean()) for layer in layers if layer.running_var is not None]
    return sum((math.log(variance) / 2 if variance > 0 else -math.inf for variance in variances), start=0.0)


def log_mean_change(before: Tensor, after: Tensor) -> float:
    """ln of the mean over samples of the summed absolute change; minus infinity where nothing changes."""
    change = float(torch.sum((before - after).abs().double().flatten(1), dim=1).mean())
    return math.log(change) if change != 0 else -math.inf
