"""The golden values, and the rule by which the reference networks were filled with numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def golden(name: str) -> dict[str, Any]:
    """The published or measured values of one space: `meta` and `records`."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text())
    return content


def pattern(*shape: int) -> Tensor:
    """u_i = 2 ((3 i^2 + 7919 i + 17) mod 65537) / 65537 - 1, laid out row by row."""
    i = torch.arange(math.prod(shape), dtype=torch.int64)
    return (2 * ((3 * i * i + 7919 * i + 17) % 65537).double() / 65537 - 1).view(*shape)


@torch.no_grad()
def fill_by_rule(network: nn.Module) -> nn.Module:
    """Weights u sqrt(6 / fan-in), gains 1 + 0.1 u, biases and shifts 0.1 u, running mean 0 and variance 1."""
    for module in network.modules():
        for name, parameter in module.named_parameters(recurse=False):
            u = pattern(*parameter.shape)
            if parameter.ndim >= 2:
                parameter.copy_(u * math.sqrt(6 / parameter[0].numel()))
            elif name == "weight":
                parameter.copy_(1 + 0.1 * u)
            else:
                parameter.copy_(0.1 * u)
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
    return network


def calls(network: nn.Module, x: Tensor) -> list[str]:
    """`kind:shape` of every layer with parameters, in the order of execution."""
    seen: list[str] = []

    def note(module: nn.Module, inputs: object, output: object) -> None:
        shape = "x".join(map(str, module.weight.shape))
        if isinstance(module, nn.Conv2d):
            kind = "dwconv" if module.groups == module.in_channels > 1 else "conv"
        else:
            kind = {nn.BatchNorm2d: "bn", nn.LayerNorm: "ln", nn.Linear: "linear"}[_plain_type(module)]
        seen.append(f"{kind}:{shape}")

    layers = [module for module in network.modules() if getattr(module, "weight", None) is not None]
    handles = [layer.register_forward_hook(note) for layer in layers]
    network(x)
    for handle in handles:
        handle.remove()
    return seen


def _plain_type(module: nn.Module) -> type[nn.Module]:
    return next(kind for kind in (nn.BatchNorm2d, nn.LayerNorm, nn.Linear) if isinstance(module, kind))
