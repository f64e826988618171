"""Dextr: linear independence of feature maps and curvature of the output (Asthana et al., TMLR 2025, Eq. 8)."""

from __future__ import annotations

from math import isnan, log1p, nan
from typing import Literal

import torch

from firstlight.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.proxies.base import Parts, proxy
from firstlight.seeds import torch_generator

NO_SIGNAL = "the output does not change with the input: no curvature"
OWN_SIZE = "the network takes no larger inputs, so its curvature was measured at its own input size: expect noise"


@proxy(reference="Asthana2025dextr")
def dextr(probe: Probe, *, variant: Literal["paper", "official"] = "paper") -> Parts:
    """Half the harmonic mean of ln(1 + S) and ln(1 + k): independent channels and a bending output.

    S = sum over all module outputs X of sigma_min(X) / sigma_max(X): high when no channel repeats another.
    k = curvature of the output as the input moves along a circle: high when small input changes bend the output.

    A network whose output does not move has no curvature; its score is 0, the lowest. `variant="official"` follows the
    published code: a curve of 64x64 images at least, ten output coordinates drawn with repeats, and ln(1 + S) alone
    where the curvature is undefined or cannot be computed.

    Scale: about 1 to 3 on NAS-Bench-201. Higher is better. Cost: about seven forward passes of one image.
    """
    if variant == "official":
        return _official(probe)
    s, k = independence_term(probe), curvature_term(probe)
    if k is None:
        return Parts(0.0, note=NO_SIGNAL, independence=s, curvature=0.0)
    return Parts(_half_harmonic_mean(s, k), note=_size_note(probe), independence=s, curvature=k)


@proxy(reference="Asthana2025dextr")
def independence(probe: Probe) -> Parts:
    """ln(1 + S), the sum S over all module outputs of sigma_min / sigma_max: how linearly independent channels are.

    Scale: about 1.3 to 4.5 on NAS-Bench-201. Higher is better. Cost: about three forward passes of one image.
    """
    return Parts(independence_term(probe))


@proxy(reference="Asthana2025dextr")
def curvature(probe: Probe) -> Parts:
    """ln(1 + k), the curvature k of the output as the input moves along a circle; 0 where the output does not move.

    Scale: about 3 to 8 on NAS-Bench-201. Higher is better. Cost: about four forward passes of one image.
    """
    k = curvature_term(probe)
    return Parts(0.0, note=NO_SIGNAL) if k is None else Parts(k, note=_size_note(probe))


def independence_term(probe: Probe) -> float:
    ratios = probe.feature_statistic(InverseCondition())
    return nan if ratios.not_finite else log1p(float(ratios.values.sum()))


def curvature_term(probe: Probe) -> float | None:
    kappa = probe.output_curvature()
    return None if kappa is None else log1p(kappa)


def _official(probe: Probe) -> Parts:
    """As the published code does it, with its ways out where something cannot be computed."""
    s = log1p(float(probe.feature_statistic(InverseCondition()).values.sum()))
    shape = tuple(probe.batches[0][0].shape[1:])
    size = shape[:1] + tuple(max(64, side) for side in shape[1:]) if len(shape) == 3 else shape
    try:
        outputs = probe.output_jet(size=size).velocity.shape[1]
        drawn = torch.randint(outputs, (10,), generator=torch_generator(probe.seed, "curvature coordinates"))
        kappa = probe.output_curvature(size=size, coordinates=tuple(drawn.tolist()))
    except UnsupportedError as error:
        return Parts(s, note=f"no curvature: {error}", independence=s, curvature=0.0)
    if kappa is None or isnan(kappa):
        note = NO_SIGNAL if kappa is None else "the output is not a number: no curvature"
        return Parts(s, note=note, independence=s, curvature=0.0)
    return Parts(_half_harmonic_mean(s, log1p(kappa)), independence=s, curvature=log1p(kappa))


def _half_harmonic_mean(s: float, k: float) -> float:
    return s * k / (s + k) if s + k else 0.0


def _size_note(probe: Probe) -> str:
    usual = tuple(probe.batches[0][0].shape[1:])
    return OWN_SIZE if len(usual) == 3 and probe.output_jet().shape == usual else ""
