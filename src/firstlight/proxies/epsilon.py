"""Epsilon: how much the outputs of a network depend on the scale of equal weights (Gracheva, Array 2021)."""

from __future__ import annotations

from math import nan

import torch

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy

# Outputs that differ by less than this many units of their last digit are equal
ROUNDING = 64


@proxy(reference="Gracheva2021epsilon", batch_size=256)
def epsilon(probe: Probe, *, low: float = 1e-7, high: float = 1.0) -> Parts:
    """How much outputs change from small to large equal weights.

        M = mean |a - b| / mean(a, b)

    a and b are the outputs for the batch when all weights are `low` and when all are `high`, with biases 0, each scaled
    to the range from 0 to 1. Zeros are left out. All is computed in float64: in float32, products of many small weights
    vanish.

    Scale: 0 to 2. Higher is better. Cost: two forward passes of the batch in float64.

    Args:
        low: The first weight; the default is that of NAS-Bench-201, and 1e-4 was used on NAS-Bench-101.
        high: The second weight; 10 was used on NAS-Bench-101.
    """
    outputs = [probe.constant_outputs(value=value) for value in (low, high)]
    if not all(bool(row.isfinite().all()) for row in outputs):
        return Parts(nan)
    if any(are_equal(row) for row in outputs):
        raise UnsupportedError(
            "the outputs of constant weights do not differ, or by rounding errors only. LayerNorm turns equal channels "
            "into zeros."
        )
    return Parts(relative_change(*outputs))


def are_equal(row: torch.Tensor) -> bool:
    """Return True if numbers differ by no more than rounding errors."""
    return not bool(row.max() - row.min() > ROUNDING * torch.finfo(row.dtype).eps * row.abs().max())


def relative_change(first: torch.Tensor, second: torch.Tensor) -> float:
    """Return the mean difference of two rows of outputs, each scaled to [0, 1], relative to their mean."""
    scaled = [(row - row.min()) / (row.max() - row.min()) for row in (first, second)]
    a, b = (torch.where(row == 0, nan, row) for row in scaled)
    return float((a - b).abs().nanmean() / torch.cat([a, b]).nanmean())
