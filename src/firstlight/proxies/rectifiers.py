"""ReLU codes: how many inputs, or units, have different patterns of active ReLUs."""

from __future__ import annotations

from math import exp, nan
from typing import Literal

import torch

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Mellor2021naswot", batch_size=64, expects=("codes",))
def naswot(probe: Probe, *, variant: Literal["paper", "hnas"] = "paper") -> Parts:
    """How different the ReLU patterns of samples are.

        M = ln |det K|
        K_ij = number of ReLU units that are active for both samples i and j, or for neither

    Scale: about 500 to 800 for a batch of 64 on NAS-Bench-201. Higher is better. Cost: one forward pass of the batch,
    shared with `swap` and `linear_regions`.

    Args:
        variant: The `paper` counts units; `hnas` takes the inner products of the ReLU inputs instead.
    """
    kernel = probe.relu_inner_products() if variant == "hnas" else probe.relu_codes().agreement
    if not bool(kernel.isfinite().all()):
        return Parts(nan)
    return Parts(float(torch.linalg.slogdet(kernel).logabsdet))


@proxy(reference="Chen2021tenas", batch_size=64, expects=("codes",))
def linear_regions(probe: Probe) -> Parts:
    """Number of different ReLU patterns among the samples.

        M = number of different patterns of all ReLU units among the samples

    For networks of the usual size, all samples of a small batch differ, and M is the batch size; the published protocol
    uses 3,000 tiny inputs and a network of one channel.

    Scale: 1 to the batch size. Higher is better. Cost: that of `naswot`, shared with it.
    """
    codes = probe.relu_codes()
    if not codes.finite:
        return Parts(nan)
    alike = (codes.agreement >= codes.units - 0.5).sum(1)
    return Parts(float((1 / alike.double()).sum()))


@proxy(reference="Peng2024swap", batch_size=64, expects=("codes",))
def swap(probe: Probe, *, samples: int = 16, activations: Literal["relu", "all"] = "relu") -> Parts:
    """Number of different patterns of ReLU units over samples.

        M = number of different patterns over the samples among the units

    The units are those of ReLUs after feature maps of images.

    Scale: 1 to 2^samples or the number of units. Higher is better. Cost: that of `naswot`, shared with it; with
    `activations=all` one forward pass of the samples.

    Args:
        samples: Number of samples of the batch.
        activations: The units of `relu` after feature maps, as published; or those of `all` ReLUs and GELUs, tokens
            included, for transformers. A unit of a GELU is on if its input is positive.
    """
    if activations == "all":
        found = probe.activation_patterns(samples)
        return Parts(nan if found is None else found)
    return Parts(_patterns(probe, samples))


@proxy(reference="Peng2024swap", batch_size=64, expects=("codes",))
def swap_reg(probe: Probe, *, samples: int = 16, mu: float = 0.0, sigma: float = 0.0) -> Parts:
    """SWAP, with a preference for a number of parameters.

        M = swap * exp( - (P - mu)^2 / sigma )

    swap is the score of `swap`, and P the number of parameters in thousands.

    Scale: that of `swap`. Higher is better. Cost: that of `naswot`, shared with it.

    Args:
        samples: Number of samples of the batch.
        mu: Preferred number of parameters, in thousands.
        sigma: Width of the preference; 0 for no preference, so that M is that of `swap`.
    """
    if sigma < 0:
        raise SettingError(f"swap_reg:sigma is {sigma}; it must be positive, or 0 for no preference.")
    factor = exp(-((probe.cost().params / 1e3 - mu) ** 2) / sigma) if sigma else 1.0
    return Parts(_patterns(probe, samples) * factor, factor=factor)


def _patterns(probe: Probe, samples: int) -> float:
    codes = probe.relu_patterns(samples)
    if not codes.patterns:
        raise UnsupportedError("the network has no ReLU modules after feature maps of images.")
    return codes.patterns if codes.finite else nan
