"""The Fisher information of a classifier in a few of its parameters: the first one of each tensor.

In eval mode, samples do not influence each other, so that one backward pass of a logit of all samples gives the
derivatives of each sample: the derivative of a layer's output times what the parameter multiplies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked

# Share of the uniform distribution that is mixed into the predicted probabilities
SMOOTHING = 0.05


def fisher_information(logits: Tensor, jacobian: Tensor) -> Tensor:
    """Return the mean over samples of J' (diag(p) - p p') J in float64.

    Args:
        logits: The logits of each sample, shape (N, classes). p is their softmax, mixed with 5 % of the uniform
            distribution.
        jacobian: Their derivatives J with respect to K parameters, shape (N, classes, K).

    Returns:
        A matrix of shape (K, K).
    """
    p = (1 - SMOOTHING) * logits.detach().double().cpu().softmax(1) + SMOOTHING / logits.shape[1]
    covariance = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    return torch.einsum("nak,nab,nbl->kl", jacobian, covariance, jacobian) / len(logits)


def quantile_entropy(matrix: Tensor) -> float:
    """Return the entropy of the nine deciles of the singular values, as shares of their sum; at most ln 9.

    NaN if an entry is not finite.
    """
    if not bool(matrix.isfinite().all()):
        return float("nan")
    values = torch.linalg.svdvals(matrix)
    deciles = torch.quantile(values, torch.arange(1, 10, dtype=values.dtype) / 10)
    shares = deciles / (deciles.abs().sum() + 1e-10)
    return -float((shares * (shares + 1e-10).log()).sum())


# How known layers run; a subclass may do something else with its parameters
FORWARDS = (
    nn.Linear.forward,
    nn.Conv2d.forward,
    nn.modules.batchnorm._BatchNorm.forward,
    nn.GroupNorm.forward,
    nn.LayerNorm.forward,
)


class DerivativeRecorder:
    """Hooks on layers, which turn gradients of their outputs into derivatives in the first entry of each parameter.

    Args:
        tensors: The parameters.
        samples: The number of samples.

    Attributes:
        derivatives: Those of the backward passes so far, shape (samples, tensors).
    """

    def __init__(self, tensors: Sequence[Tensor], samples: int) -> None:
        self._columns = {tensor: column for column, tensor in enumerate(tensors)}
        self.derivatives = torch.zeros(samples, len(tensors), dtype=torch.float64)

    def watching(self, model: nn.Module) -> AbstractContextManager[None]:
        return hooked([module for module in model.modules() if _factors(module) is not None], self._see)

    def _see(self, layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        factors = _factors(layer)
        assert factors is not None
        with torch.no_grad():
            found = factors(inputs[0].detach())
        terms = [(self._columns[p], f) for p, f in zip(_parameters(layer), found, strict=False) if p in self._columns]
        if terms and output.requires_grad:
            output.register_hook(functools.partial(self._meet, terms, _channel(layer)))
        return output.clone() if output._is_view() else output  # a view loses its hook when it is written to

    def _meet(self, terms: list[tuple[int, Tensor | None]], channel: int, gradient: Tensor) -> None:
        first = gradient.select(channel, 0).reshape(len(gradient), -1).double()
        for column, factor in terms:
            products = first if factor is None else first * factor.reshape(first.shape).double()
            self.derivatives[:, column] += products.sum(1).cpu()


def _channel(layer: nn.Module) -> int:
    return -1 if isinstance(layer, (nn.Linear, nn.LayerNorm)) else 1


def _parameters(layer: nn.Module) -> list[Tensor | None]:
    return [getattr(layer, "weight", None), getattr(layer, "bias", None)]


def _factors(layer: nn.Module) -> Callable[[Tensor], tuple[Tensor, None]] | None:
    """Return a function of the input: what the first weight multiplies at each position of the output, and None for the
    bias, which multiplies 1. None if the layer is of another kind, or has a forward pass of its own."""
    if type(layer).forward not in FORWARDS:
        return None
    if isinstance(layer, nn.Linear):
        return lambda x: (x.select(-1, 0).clone(), None)
    if isinstance(layer, nn.modules.batchnorm._BatchNorm) and layer.affine:
        return lambda x: (F.batch_norm(x, layer.running_mean, layer.running_var, eps=layer.eps).select(1, 0), None)
    if isinstance(layer, nn.GroupNorm) and layer.affine:
        return lambda x: (F.group_norm(x, layer.num_groups, eps=layer.eps).select(1, 0), None)
    if isinstance(layer, nn.LayerNorm) and len(layer.normalized_shape) == 1:
        return lambda x: (F.layer_norm(x, layer.normalized_shape, eps=layer.eps).select(-1, 0), None)
    if isinstance(layer, nn.Conv2d) and layer.padding_mode == "zeros" and not isinstance(layer.padding, str):
        return functools.partial(_covered, layer)
    return None


def _covered(layer: nn.Conv2d, x: Tensor) -> tuple[Tensor, None]:
    """Return the entries of the first channel that the upper left weight of the kernel meets, in order."""
    assert not isinstance(layer.padding, str)
    height, width = layer.padding
    padded = F.pad(x.select(1, 0), (width, width, height, height))
    spans = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
    rows, columns = (side - span for side, span in zip(padded.shape[1:], spans, strict=True))
    return padded[:, : rows : layer.stride[0], : columns : layer.stride[1]].clone(), None


def outside_of_layers(model: nn.Module, tensors: Iterable[Tensor]) -> bool:
    """Return whether some parameters belong to no layer that `DerivativeRecorder` knows."""
    known = {p for module in model.modules() if _factors(module) is not None for p in _parameters(module)}
    return any(tensor not in known for tensor in tensors)


def derivatives_of_batch(logits: Tensor, tensors: Sequence[Tensor], recorder: DerivativeRecorder) -> Tensor:
    """Return the derivatives of all logits, shape (N, classes, K), by a backward pass for each class."""
    _require_rows(logits)
    found = []
    for column in logits.T:
        recorder.derivatives = torch.zeros_like(recorder.derivatives)
        if column.requires_grad:
            torch.autograd.grad(column.sum(), tensors, retain_graph=True, allow_unused=True)
        found.append(recorder.derivatives)
    return torch.stack(found, 1)


def derivatives_of_samples(rows: Iterable[Tensor], tensors: Sequence[Tensor]) -> Tensor:
    """Return the same from passes of single samples, by a backward pass for each logit of each sample."""
    found = []
    for row in rows:
        _require_rows(row)
        found.append(torch.stack([_first_entries(logit, tensors) for logit in row[0]]))
    return torch.stack(found)


def _first_entries(logit: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    if not logit.requires_grad:
        return torch.zeros(len(tensors), dtype=torch.float64)
    found = torch.autograd.grad(logit, tensors, retain_graph=True, allow_unused=True)
    first = [0.0 if gradient is None else float(gradient.flatten()[0]) for gradient in found]
    return torch.tensor(first, dtype=torch.float64)


def _require_rows(logits: Tensor) -> None:
    if logits.ndim != 2:
        raise UnsupportedError(f"one row of logits for each sample is needed; got the shape {tuple(logits.shape)}.")
