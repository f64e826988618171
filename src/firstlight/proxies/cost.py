"""Size: the number of parameters, and the computations for one input."""

from __future__ import annotations

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(needs="nothing")
def params(probe: Probe) -> Parts:
    """Number of parameters: the baseline.

        M = number of parameters

    Scale: the count itself. Higher counts as better: a baseline that every other proxy should beat.
    Cost: none for spaces with a formula, else one forward pass of one sample.
    """
    return Parts(probe.cost().params)


@proxy(reference="Javaheripi2022lts", needs="nothing")
def decoder_params(probe: Probe) -> Parts:
    """Number of trained parameters without embeddings.

        M = number of parameters that are trained and not part of an embedding

    Made for language models, in which most parameters are embeddings that say little about the loss. Without embeddings
    it is `params`.

    Scale: the count itself. Higher is better. Cost: none.
    """
    return Parts(probe.decoder_parameters())


@proxy(needs="nothing")
def macs(probe: Probe) -> Parts:
    """Multiply-accumulates for one input (FLOPs / 2).

        M = number of multiply-accumulates of convolutions and matrix products

    Scale: the count itself. Higher counts as better: a baseline that every other proxy should beat.
    Cost: none for spaces with a formula, else one forward pass of one sample.
    """
    return Parts(probe.cost().macs)
