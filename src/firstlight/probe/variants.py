"""Copies of a network with other weights."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn

from firstlight.probe.gradients import weights_of

NORMALIZATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)


@torch.no_grad()
def absolute(model: nn.Module, *, batch_norm: bool = False) -> nn.Module:
    """Return a copy in float64 with absolute weights and buffers; BatchNorm becomes an identity unless `batch_norm`."""
    twin = copy.deepcopy(model).double()
    for tensor in [*twin.parameters(), *twin.buffers()]:
        if tensor.is_floating_point():
            tensor.abs_()
    if not batch_norm:
        for module in twin.modules():
            for name, child in module._modules.items():  # named_children() yields a shared child only once
                if isinstance(child, nn.modules.batchnorm._BatchNorm):
                    setattr(module, name, nn.Identity())
    return twin


@torch.no_grad()
def constant(model: nn.Module, value: float) -> nn.Module:
    """Return a copy with all parameters equal to `value`, except biases, which are 0, and fresh running statistics."""
    twin = copy.deepcopy(model)
    for name, parameter in twin.named_parameters():
        parameter.fill_(0.0 if name.rpartition(".")[2].endswith("bias") else value)
    for module in twin.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase):
            module.reset_running_stats()
    return twin


@torch.no_grad()
def reinitialized(model: nn.Module, generator: torch.Generator, *, kaiming: bool) -> nn.Module:
    """Return a copy with new weights.

    Weights of convolutions and linear layers are normal with a standard deviation of 1, or of sqrt(2 / fan-in) with
    `kaiming`. Biases are 0, and normalization layers start with gain 1, shift 0 and fresh statistics.
    """
    twin = copy.deepcopy(model)
    for weight in weights_of(twin).values():
        deviation = math.sqrt(2 / weight[0].numel()) if kaiming else 1.0
        weight.copy_(torch.randn(weight.shape, generator=generator) * deviation)
    for module in twin.modules():
        if isinstance(module, NORMALIZATIONS):
            if module.weight is not None:
                module.weight.fill_(1.0)
            if isinstance(module, nn.modules.batchnorm._NormBase):
                module.reset_running_stats()
        if isinstance(module, (nn.Conv2d, nn.Linear, *NORMALIZATIONS)) and module.bias is not None:
            module.bias.zero_()
        if isinstance(module, nn.MultiheadAttention) and module.in_proj_bias is not None:
            module.in_proj_bias.zero_()
    return twin
