"""Zen-score: how much features change with the input, without BatchNorm's scaling (Lin et al., ICCV 2021)."""

from __future__ import annotations

from math import inf

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.sizes import Per, size_for


@proxy(reference="Lin2021zennas", needs="nothing")
def zen(probe: Probe, *, step: float = 0.01, samples: int = 16, draws: int = 1, per: Per = "network") -> Parts:
    """How much features change with noise, without BatchNorm.

        M = ln( mean over samples of sum |f(x) - f(x + step x')| )
            + sum over BatchNorm layers of ln sqrt(mean running variance)

    f is the feature map before global pooling; weights and inputs x, x' are drawn from N(0, 1).

    Scale: about 10 to 100 on NAS-Bench-201. Higher is better. Cost: two forward passes of 16 samples for each draw.

    Args:
        step: Size of the change of the input.
        samples: Number of inputs.
        draws: Number of draws that M is averaged over.
        per: Divide M by the number of weight tensors (`layer`), of parameters (`parameter`) or of multiply-accumulates
            (`mac`). Published is the sum over the `network`.
    """
    found = [probe.feature_change(step=step, samples=samples, draw=draw) for draw in range(draws)]
    change, scale = (sum(terms) / len(found) for terms in zip(*found, strict=True))
    note = "the features do not change with the input" if change == -inf else ""
    size = size_for(probe, per, len(probe.weights()))
    return Parts((change + scale) / size, note=note, change=change, scale=scale)
