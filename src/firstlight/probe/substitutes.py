"""Quicker ways to run layers on a CPU in a pass without gradients: equal results from other kernels of PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.probe.observe import modules_of

# Channels from which on pooling is quicker with channels last
_ENOUGH_CHANNELS = 8


def substitute_layers(model: nn.Module) -> None:
    """Have average pooling and BatchNorm run quicker kernels, until `undisturbed` restores the modules.

    The running statistics of BatchNorm are then not updated. Layers of other classes, with hooks on `forward` or on
    other devices run as usual.
    """
    for module in modules_of(model):
        substitute = _SUBSTITUTES.get(type(module))
        if substitute is not None and "forward" not in module.__dict__:
            module.__dict__["forward"] = functools.partial(substitute, module)


def _avg_pool(layer: nn.AvgPool2d, x: Tensor) -> Tensor:
    """Pool with channels last, which takes a third of the time for 3x3 pixels, and adds up in the same order."""
    if layer.kernel_size not in (3, (3, 3)) or not _is_image(x) or x.shape[1] < _ENOUGH_CHANNELS:
        return nn.AvgPool2d.forward(layer, x)
    pooled = nn.AvgPool2d.forward(layer, x.contiguous(memory_format=torch.channels_last))
    return pooled.contiguous(memory_format=torch.contiguous_format)


def _batch_norm(layer: nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Normalize a single image as a group norm with one group for each channel."""
    single = _is_image(x) and len(x) == 1 and x.shape[1] == layer.num_features and x.shape[2:].numel() > 1
    if not (single and layer.training):
        return nn.BatchNorm2d.forward(layer, x)
    return F.group_norm(x, layer.num_features, layer.weight, layer.bias, layer.eps)


def _is_image(x: Any) -> bool:
    return type(x) is Tensor and x.ndim == 4 and x.device.type == "cpu" and x.is_contiguous()


_SUBSTITUTES: dict[type, Callable[[Any, Tensor], Tensor]] = {nn.AvgPool2d: _avg_pool, nn.BatchNorm2d: _batch_norm}
