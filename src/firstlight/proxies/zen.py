"""Zen-score: how much features change with the input, without BatchNorm's scaling (Lin et al., ICCV 2021)."""

from __future__ import annotations

from math import inf

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Lin2021zennas", needs="nothing")
def zen(probe: Probe, *, step: float = 0.01, samples: int = 16, draws: int = 1) -> Parts:
    """How much features change with noise, without BatchNorm.

        M = ln( mean over samples of sum |f(x) - f(x + step x')| )
            + sum over BatchNorm layers of ln sqrt(mean running variance)

    f is the feature map before global pooling; weights and inputs x, x' are drawn from N(0, 1).

    Scale: about 10 to 100 on NAS-Bench-201. Higher is better. Cost: two forward passes of 16 samples for each draw.

    Args:
        step: Size of the change of the input.
        samples: Number of inputs.
        draws: Number of draws that M is averaged over.
    """
    found = [probe.feature_change(step=step, samples=samples, draw=draw) for draw in range(draws)]
    change, scale = (sum(terms) / len(found) for terms in zip(*found, strict=True))
    note = "the features do not change with the input" if change == -inf else ""
    return Parts(change + scale, note=note, change=change, scale=scale)
