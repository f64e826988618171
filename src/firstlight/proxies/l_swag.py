"""L-SWAG: steady gradients times different activation patterns (Casarin et al., CVPR 2025)."""

from __future__ import annotations

from math import log, nan
from typing import Annotated

import torch

from firstlight.core.errors import SettingError
from firstlight.core.settings import AtLeast
from firstlight.probe import Probe
from firstlight.probe.rectifiers import within
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.sigeo import refuse_equal_batches


@proxy(reference="Casarin2025lswag", needs="labels", batch_size=64, expects=("gradients",))
def l_swag(
    probe: Probe,
    *,
    batches: Annotated[int, AtLeast(2)] = 2,
    samples: int = 64,
    first: float = 0.0,
    last: float = 1.0,
) -> Parts:
    """Gradients that vary little, times different ReLU patterns.

        M = G * N
        G = sum over layers of ln( sum over weights of 1 / sigma )
        N = number of different on/off patterns over the samples among the units of ReLUs and GELUs

    sigma is the population standard deviation of the absolute gradient over batches; weights whose gradient does not
    vary are left out. The publication counts only layers in an interval of depths, which it chooses for each benchmark
    from a thousand networks and does not state; by default all layers count.

    Scale: many orders of magnitude, with the number of units. Higher is better. Cost: one forward and backward pass for
    each batch, shared by all gradient proxies, and a forward pass of the samples.

    Args:
        batches: Number of batches; at least 2.
        samples: Number of samples that patterns are told apart by.
        first: Depth of the first layer that counts, as a share of all layers.
        last: Depth behind the last one.
    """
    if not 0 <= first < last <= 1:
        raise SettingError(f"l_swag:first is {first} and last is {last}; write shares with 0 <= first < last <= 1.")
    gradients = [entry.weights for entry in probe.all_loss_gradients(batches)]
    steadiness = 0.0
    for name in within(list(gradients[0]), first, last):
        deviation = torch.stack([own[name].double().abs() for own in gradients]).std(0, correction=0)
        varying = deviation[deviation > 0] if bool(deviation.isfinite().all()) else deviation
        if len(varying):
            total = float((1 / varying).sum())
            steadiness += log(total) if total > 0 else nan
    if not steadiness:
        refuse_equal_batches(probe, batches)
    patterns = probe.activation_patterns(samples, first=first, last=last)
    if patterns is None:
        return Parts(nan)
    return Parts(steadiness * patterns, steadiness=steadiness, patterns=patterns)
