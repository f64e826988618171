"""Epsilon: how much the outputs of a network depend on the scale of equal weights (Gracheva, Array 2021)."""

from __future__ import annotations

from math import nan

import torch

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Gracheva2021epsilon", batch_size=256)
def epsilon(probe: Probe, *, low: float = 1e-7, high: float = 1.0) -> Parts:
    """How much outputs change between two networks of constant weights.

        M = mean |a - b| / mean(a, b)

    a and b are the outputs for the batch when all weights are `low` and when all are `high`, with biases 0, each scaled
    to the range from 0 to 1. Zeros are left out.

    Scale: 0 to 2. Higher is better. Cost: two forward passes of the batch.

    Args:
        low: The first weight; the default is that of NAS-Bench-201, and 1e-4 was used on NAS-Bench-101.
        high: The second weight; 10 was used on NAS-Bench-101.
    """
    return Parts(relative_change(*(probe.constant_outputs(value=value) for value in (low, high))))


def relative_change(first: torch.Tensor, second: torch.Tensor) -> float:
    """Return the mean difference of two rows of outputs, each scaled to [0, 1], relative to their mean.

    NaN if the outputs of one are all equal.
    """
    scaled = [(row - row.min()) / (row.max() - row.min()) for row in (first, second)]
    if not all(bool(row.isfinite().all()) for row in scaled):
        return nan
    a, b = (torch.where(row == 0, nan, row) for row in scaled)
    return float((a - b).abs().nanmean() / torch.cat([a, b]).nanmean())
