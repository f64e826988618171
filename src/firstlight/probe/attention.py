"""The attention weights of a transformer, and how much they contribute to paths through the network."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError

_QUERY = re.compile(r"(to_)?(q|qkv|query|query_key_value|q_proj|in_proj)")
_PART = re.compile(r"(to_)?(q|k|v|qkv|kv|query|key|value|query_key_value|[qkvo]_proj|in_proj|out_proj|proj|out)")


def attention_weights(model: nn.Module) -> list[Tensor]:
    """Return the weights of `nn.MultiheadAttention`, and of linear layers named like those of attention."""
    found: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            inner = (module.in_proj_weight, module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
            found += [weight for weight in (*inner, module.out_proj.weight) if weight is not None]
            continue
        linear = {name: child for name, child in module.named_children() if isinstance(child, nn.Linear)}
        if any(_QUERY.fullmatch(name) for name in linear):
            found += [child.weight for name, child in linear.items() if _PART.fullmatch(name)]
    if not found:
        raise UnsupportedError(
            "the network has no attention layers (nn.MultiheadAttention, or linear layers named qkv)."
        )
    return found


def other_linear_weights(model: nn.Module, attention: list[Tensor]) -> list[Tensor]:
    """Return the weights of the linear layers that are not part of attention."""
    known = set(map(id, attention))
    return [m.weight for m in model.modules() if isinstance(m, nn.Linear) and id(m.weight) not in known]


def synaptic_terms(total: Tensor, attention: list[Tensor], others: list[Tensor]) -> tuple[float, float]:
    """Return the diversity of attention, sum of ||dW||_* ||W||_*, and the saliency of other layers, sum of |W dW|."""
    gradients: tuple[Tensor | None, ...] = torch.autograd.grad(total, [*attention, *others], allow_unused=True)
    diversity = saliency = 0.0
    for number, (weight, gradient) in enumerate(zip([*attention, *others], gradients, strict=True)):
        if gradient is None:
            continue
        if number < len(attention):
            diversity += _nuclear_norm(gradient) * _nuclear_norm(weight.detach())
        else:
            saliency += float((weight.detach() * gradient).abs().sum())
    return diversity, saliency


def _nuclear_norm(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix, "nuc"))
