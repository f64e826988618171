"""Copies of a network with other weights, for measurements that are not about the weights it has."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn

from firstlight.probe.gradients import weights_of

NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)


@torch.no_grad()
def absolute(model: nn.Module, *, batch_norm: bool = False) -> nn.Module:
    """In float64, every weight and buffer replaced by its size; BatchNorm passes on what it gets unless kept."""
    twin = copy.deepcopy(model).double()
    for tensor in [*twin.parameters(), *twin.buffers()]:
        if tensor.is_floating_point():
            tensor.abs_()
    if not batch_norm:
        for module in twin.modules():
            for name, child in module._modules.items():  # named_children() would name a child used twice only once
                if isinstance(child, nn.modules.batchnorm._BatchNorm):
                    setattr(module, name, nn.Identity())
    return twin


@torch.no_grad()
def reinitialised(model: nn.Module, generator: torch.Generator, *, kaiming: bool) -> nn.Module:
    """Weights of convolutions and linear maps drawn from a normal distribution, of deviation 1 or (`kaiming`)
    sqrt(2 / fan-in); biases 0, normalisations at gain 1 and shift 0 with fresh statistics."""
    twin = copy.deepcopy(model)
    for weight in weights_of(twin).values():
        deviation = math.sqrt(2 / weight[0].numel()) if kaiming else 1.0
        weight.copy_(torch.randn(weight.shape, generator=generator) * deviation)
    for module in twin.modules():
        if isinstance(module, NORMALISATIONS):
            if module.weight is not None:
                module.weight.fill_(1.0)
            if isinstance(module, nn.modules.batchnorm._NormBase):
                module.reset_running_stats()
        if isinstance(module, (nn.Conv2d, nn.Linear, *NORMALISATIONS)) and module.bias is not None:
            module.bias.zero_()
        if isinstance(module, nn.MultiheadAttention) and module.in_proj_bias is not None:
            module.in_proj_bias.zero_()
    return twin
