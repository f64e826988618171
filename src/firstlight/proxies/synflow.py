"""SynFlow: the sum of all paths from input to output (Tanaka et al., NeurIPS 2020)."""

from __future__ import annotations

from math import inf, log

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.sizes import Per, size_for


@proxy(reference="Tanaka2020synflow", needs="nothing")
def synflow(probe: Probe, *, batch_norm: bool = False, per: Per = "network") -> Parts:
    """Sum of the absolute weights of all paths to the output.

        M = ln( sum over all weights of |W * dR/dW| )

    R is the sum of the outputs for an input of ones when every weight is replaced by its absolute value, in float64.

    Scale: about 20 to 130 on NAS-Bench-201. Higher is better. Cost: one forward and backward pass of one sample in
    float64.

    Args:
        batch_norm: Keep BatchNorm, which is otherwise replaced by the identity.
        per: Divide the sum by the number of weight tensors (`layer`), of parameters (`parameter`) or of
            multiply-accumulates (`mac`). Published is the sum over the `network`.
    """
    total = probe.path_sum(batch_norm=batch_norm) / size_for(probe, per, len(probe.weights()))
    return Parts(log(total) if total > 0 else -inf, note="" if total > 0 else "no path leads to the output")
