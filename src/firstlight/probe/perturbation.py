"""The change of features when the input moves, and the scale that BatchNorm divides by (Zen-score)."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked


class LastFeatures:
    """Keeps the last feature map of a forward pass, before global pooling.

    The output of adaptive pooling and maps of one pixel after larger ones do not count.
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
            self._last = output.detach().clone()  # the next layer may work in place

    def take(self) -> Tensor:
        """Return the last feature map and forget it."""
        if self._last is None:
            raise UnsupportedError("the network has no feature maps of images, whose change is measured.")
        last, self._last = self._last, None
        return last


def log_batch_norm_scale(model: nn.Module) -> float:
    """Return the sum over BatchNorm layers of the log of the square root of their mean running variance."""
    layers = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    variances = [float(layer.running_var.mean()) for layer in layers if layer.running_var is not None]
    return sum((math.log(variance) / 2 if variance > 0 else -math.inf for variance in variances), start=0.0)


def log_mean_change(before: Tensor, after: Tensor) -> float:
    """Return the log of the mean over samples of the summed absolute change; minus infinity if nothing changes."""
    change = float(torch.sum((before - after).abs().double().flatten(1), dim=1).mean())
    return math.log(change) if change != 0 else -math.inf
