"""ReLU codes: how many inputs, or units, the network tells apart by what is on and what is off."""

from __future__ import annotations

from math import exp, nan
from typing import Literal

import torch

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Mellor2021naswot", batch_size=64, expects=("codes",))
def naswot(probe: Probe, *, variant: Literal["paper", "hnas"] = "paper") -> Parts:
    """How differently ReLUs treat the samples of a batch.

        M = ln |det K|
        K_ij = number of ReLU units that are on for both samples i and j, or off for both

    `variant="hnas"` takes the products of the real ReLU inputs in place of the count.

    Scale: about 500 to 800 for a batch of 64 on NAS-Bench-201. Higher is better. Cost: one forward pass of the batch,
    shared with `swap` and `linear_regions`.
    """
    kernel = probe.relu_inner_products() if variant == "hnas" else probe.relu_codes().agreement
    if not bool(kernel.isfinite().all()):
        return Parts(nan)
    return Parts(float(torch.linalg.slogdet(kernel).logabsdet))


@proxy(reference="Chen2021tenas", batch_size=64, expects=("codes",))
def linear_regions(probe: Probe) -> Parts:
    """Number of samples that the network's ReLUs tell apart.

        M = number of different on/off patterns over all ReLU units among the samples

    A network of usual size tells all samples of a small batch apart, and M is the batch size whatever the network; the
    published protocol shows 3,000 tiny inputs to a network of one channel.

    Scale: 1 to the batch size. Higher is better. Cost: that of `naswot`, shared with it.
    """
    codes = probe.relu_codes()
    if not codes.finite:
        return Parts(nan)
    alike = (codes.agreement >= codes.units - 0.5).sum(1)
    return Parts(float((1 / alike.double()).sum()))


@proxy(reference="Peng2024swap", batch_size=64, expects=("codes",))
def swap(probe: Probe, *, samples: int = 16) -> Parts:
    """Number of patterns that ReLU units show over a few samples.

        M = number of different on/off patterns over the first `samples` samples among the units

    The units are those of ReLUs behind feature maps of images.

    Scale: 1 to 2^samples or the number of units. Higher is better. Cost: that of `naswot`, shared with it.
    """
    return Parts(_patterns(probe, samples))


@proxy(reference="Peng2024swap", batch_size=64, expects=("codes",))
def swap_reg(probe: Probe, *, samples: int = 16, mu: float = 0.0, sigma: float = 0.0) -> Parts:
    """SWAP, held near a wanted number of parameters.

        M = swap * exp( - (P - mu)^2 / sigma )

    swap is the score of `swap` over the first `samples` samples, P the number of parameters in thousands. `mu` and
    `sigma` must be chosen; without them (sigma = 0) there is no preference for a size and M is that of `swap`.

    Scale: that of `swap`. Higher is better. Cost: that of `naswot`, shared with it.
    """
    if sigma < 0:
        raise SettingError(f"swap_reg:sigma is {sigma}; it must be positive, or 0 for no preference.")
    factor = exp(-((probe.cost().params / 1e3 - mu) ** 2) / sigma) if sigma else 1.0
    return Parts(_patterns(probe, samples) * factor, factor=factor)


def _patterns(probe: Probe, samples: int) -> float:
    codes = probe.relu_patterns(samples)
    if not codes.patterns:
        raise UnsupportedError("the network has no ReLU modules behind feature maps of images.")
    return codes.patterns if codes.finite else nan
