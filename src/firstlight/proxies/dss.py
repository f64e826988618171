"""DSS: diversity of attention and saliency of the other linear layers of a transformer (Zhou et al., CVPR 2022)."""

from __future__ import annotations

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Zhou2022tftas", needs="nothing")
def dss(probe: Probe) -> Parts:
    """Diversity of attention, and saliency of other linear layers.

        M = sum over attention weights of ||dR/dW||_* ||W||_*
            + sum over weights of other linear layers of |W * dR/dW|

    R is the sum of the outputs for an input of ones when every weight is replaced by its absolute value, in float64;
    the norms are nuclear norms. Convolutions such as the patch embedding are left out. Designed for transformers.

    Scale: many orders of magnitude. Higher is better. Cost: one forward and backward pass of one sample in float64,
    and singular values of the attention weights.
    """
    diversity, saliency = probe.synaptic_terms()
    return Parts(diversity + saliency, diversity=diversity, saliency=saliency)
