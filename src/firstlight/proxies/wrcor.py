"""WRCor: correlations of responses between samples, with a weight for each block (Jing et al., 2025)."""

from __future__ import annotations

from math import nan

import torch

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Jing2025wrcor", needs="labels", batch_size=64)
def wrcor(probe: Probe) -> Parts:
    """How little responses of samples are correlated, by depth.

        M = ln |det K|
        K = sum over ReLUs of 2^i ( |C(x)| + |C(g)| )

    x is the input of the ReLU and g the gradient of the loss with respect to it; C are the correlations between the
    samples of the batch. i is the number of the block of the ReLU, from 0; blocks are those of `az_expressivity`.

    Scale: grows with the number of blocks. Higher is better. Cost: one forward and backward pass of the batch.
    """
    if len(probe.batches[0]) < 2:
        raise UnsupportedError("correlations between samples need a batch of two or more samples.")
    matrix = probe.response_correlations()
    if not bool(matrix.isfinite().all()):
        return Parts(nan)
    return Parts(float(torch.linalg.slogdet(matrix).logabsdet))
