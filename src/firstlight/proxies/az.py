"""AZ-NAS: features and gradients between blocks (Lee & Ham, CVPR 2024); its fourth proxy is `macs`."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isfinite, nan

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Lee2024aznas", needs="nothing", batch_size=64)
def az_expressivity(probe: Probe) -> Parts:
    """Entropy of the features of each block, summed over blocks.

        M = sum over blocks of e
        e = - sum over principal components of p ln(p + 1e-8)

    p are the components' shares of the variance of the block's features over samples and positions. Weights are
    initialized with Kaiming's method, and inputs are drawn from N(0, 1).

    Features are the outputs of the modules that the network's own method `feature_blocks` returns; without one, of the
    ReLUs of its outermost sequences, or else of the members of its longest module list, as in transformers.

    Scale: up to the sum of ln(channels) over blocks. Higher is better. Cost: one forward and backward pass of the
    batch, shared with `az_progressivity` and `az_trainability`.
    """
    return Parts(sum(probe.block_statistics().entropies))


@proxy(reference="Lee2024aznas", needs="nothing", batch_size=64)
def az_progressivity(probe: Probe) -> Parts:
    """Smallest growth of the features' entropy from block to block.

        M = min over neighboring blocks of e_(i+1) - e_i

    e is the entropy of `az_expressivity`. Designed for convolutional networks.

    Scale: around zero. Higher is better. Cost: that of `az_expressivity`, shared with it.
    """
    entropies = probe.block_statistics().entropies
    growth = [after - before for before, after in pairwise(entropies)]
    return Parts(min(growth) if all(map(isfinite, growth)) else nan)


@proxy(reference="Lee2024aznas", needs="nothing", batch_size=64)
def az_trainability(probe: Probe) -> Parts:
    """How well blocks preserve the size of gradients.

        M = mean over neighboring blocks of 2 - s - 1 / (s + 1e-6)

    s is the largest singular value of the covariance between a random gradient of -1 and +1 at the output of the block
    and the gradient at its input. A block that is the identity makes M minus infinity, as published (no value); in
    transformers it is left out.

    Scale: at most 0. Higher is better. Cost: that of `az_expressivity`, shared with it.
    """
    gains = probe.block_statistics().gains
    if None in gains and not probe.is_transformer():
        return Parts(-inf, note="a block is the identity")
    terms = [2 - gain - 1 / (gain + 1e-6) for gain in gains if gain is not None]
    if not terms:
        raise UnsupportedError("all blocks are the identity.")
    return Parts(sum(terms) / len(terms))
