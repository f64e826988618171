"""The Fisher information of a classifier in a few of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from firstlight.core.errors import UnsupportedError

# Share of the uniform distribution that is mixed into the predicted probabilities
SMOOTHING = 0.05


def fisher_information(logits: Iterable[Tensor], tensors: Sequence[Tensor]) -> Tensor:
    """Return the mean over samples of J' (diag(p) - p p') J in float64, with one parameter of each tensor: the first.

    Args:
        logits: The logits of each sample, shape (1, classes), from a pass of its own.
        tensors: The parameters.

    Returns:
        A matrix with a row and a column for each tensor. J holds the derivatives of the logits, p their softmax, mixed
        with 5 % of the uniform distribution.
    """
    total = torch.zeros(len(tensors), len(tensors), dtype=torch.float64)
    samples = 0
    for row in logits:
        if row.ndim != 2:
            raise UnsupportedError(f"one row of logits for each sample is needed; got the shape {tuple(row.shape)}.")
        jacobian = torch.stack([_derivatives(logit, tensors) for logit in row[0]])
        p = (1 - SMOOTHING) * row[0].detach().double().cpu().softmax(0) + SMOOTHING / row.shape[1]
        total += jacobian.T @ (torch.diag(p) - torch.outer(p, p)) @ jacobian
        samples += 1
    return total / samples


def _derivatives(logit: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    if not logit.requires_grad:
        return torch.zeros(len(tensors), dtype=torch.float64)
    found = torch.autograd.grad(logit, tensors, retain_graph=True, allow_unused=True)
    first = [0.0 if gradient is None else float(gradient.flatten()[0]) for gradient in found]
    return torch.tensor(first, dtype=torch.float64)


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
