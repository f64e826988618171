"""Dextr: linear independence of feature maps and curvature of the output (Asthana et al., TMLR 2025, Eq. 8)."""

from __future__ import annotations

from math import isnan, log1p, nan
from typing import Literal

import torch

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.probe.curvature import LARGE_SIDE, is_small
from firstlight.probe.features import FeatureValues
from firstlight.probe.spectra import FEW_ROWS, InverseCondition, SampledInverseCondition
from firstlight.proxies.base import Parts, proxy

VECTORS = "every output is a vector, so that independence only counts modules"
NO_SIGNAL = "the output does not change with the input: no curvature"
ON_A_LINE = "a single output changes with the input, and a line has no curvature; measure independence alone"
OWN_SIZE = "the network takes no larger inputs, so its curvature was measured at its own input size: expect noise"


@proxy(reference="Asthana2025dextr", revision=4, expects=(InverseCondition(),))
def dextr(probe: Probe, *, variant: Literal["paper", "official"] = "paper", images: int = 1) -> Parts:
    """Independent channels, and an output of high curvature.

        M = ln(1 + S) ln(1 + k) / ( ln(1 + S) + ln(1 + k) )
        S = sum over all module outputs X of sigma_min(X) / sigma_max(X)
        k = curvature of the output as the input moves along a circle

    M is half the harmonic mean of ln(1 + S) and ln(1 + k) (Eq. 8). S is high when no channel repeats another, k when
    small changes of the input bend the output. A network that no signal passes through has no curvature and the lowest
    score, 0. There is no score if the output changes by rounding errors only, which happens if BatchNorm subtracts the
    mean of a single image and only pooling follows.

    Scale: about 1 to 3 on NAS-Bench-201. Higher is better. Cost: about seven forward passes of one image.

    Args:
        variant: The formula of the `paper`, or the `official` code: a curve of images of at least 64x64 pixels, ten
            random output coordinates, and ln(1 + S) alone where there is no curvature.
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
    """
    if variant == "official":
        return _official(probe, images)
    return _combined(probe, probe.feature_statistic(InverseCondition(), images=images))


@proxy(reference="Asthana2025dextr", revision=3, expects=(SampledInverseCondition(FEW_ROWS),))
def dextr_opt(probe: Probe, *, rows: int = FEW_ROWS, images: int = 1) -> Parts:
    """Dextr from a few channels of each output: for varying widths.

        M = ln(1 + S) ln(1 + k) / ( ln(1 + S) + ln(1 + k) )
        S = sum over all module outputs X of (n / b) sigma_min(X') / sigma_max(X')

    X' are b random rows of the n rows of X (Eq. 22); outputs with fewer rows are used as a whole. k is the curvature of
    `dextr`.

    Scale: about 2 to 4 on NAS-Bench-201. Higher is better. Cost: about six forward passes of one image.

    Args:
        rows: Number of rows b.
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
    """
    return _combined(probe, probe.feature_statistic(SampledInverseCondition(rows), images=images))


@proxy(reference="Asthana2025dextr", revision=2, expects=(InverseCondition(),))
def independence(probe: Probe, *, images: int = 1) -> Parts:
    """How linearly independent channels are: a part of Dextr.

        M = ln(1 + S)
        S = sum over all module outputs X of sigma_min(X) / sigma_max(X)

    Scale: about 1.3 to 4.5 on NAS-Bench-201. Higher is better. Cost: about three forward passes of one image.

    Args:
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
    """
    found = probe.feature_statistic(InverseCondition(), images=images)
    if not found.matrices:
        raise UnsupportedError(f"{VECTORS}.")
    return Parts(_log_sum(found))


@proxy(reference="Asthana2025dextr", revision=3)
def curvature(probe: Probe) -> Parts:
    """Curvature of the output along a curve: a part of Dextr.

        M = ln(1 + k)
        k = sqrt( |v|^2 |a|^2 - (v . a)^2 ) / |v|^3

    v and a are the velocity and the acceleration of the output as the input moves along a random circle of unit radius.
    M = 0 if no signal reaches the output, and there is no M if the output changes by rounding errors only. Images of
    less than 64 pixels in width or height are enlarged to twice that. If the network takes only its own size, a note
    says so, and the value is mostly noise.

    Scale: about 3 to 8 on NAS-Bench-201. Higher is better. Cost: about four forward passes of one image.
    """
    k = curvature_term(probe)
    return Parts(0.0, note=NO_SIGNAL) if k is None else Parts(k, note=_size_note(probe))


def _combined(probe: Probe, found: FeatureValues) -> Parts:
    s, k = _log_sum(found), curvature_term(probe)
    if k is None:
        return Parts(0.0, note=NO_SIGNAL, independence=s, curvature=0.0)
    vectors = "" if found.matrices else VECTORS
    note = "; ".join(filter(None, (vectors, _size_note(probe))))
    return Parts(_half_harmonic_mean(s, k), note=note, independence=s, curvature=k)


def _log_sum(found: FeatureValues) -> float:
    return nan if found.not_finite else log1p(float(found.values.sum()))


def curvature_term(probe: Probe) -> float | None:
    kappa = probe.output_curvature()
    if int(probe.output_jet().velocity.any(0).sum()) == 1:
        raise UnsupportedError(f"{ON_A_LINE}.")
    return None if kappa is None else log1p(kappa)


def _official(probe: Probe, images: int) -> Parts:
    """Return the score of the published code, with its fallbacks where something cannot be computed."""
    s = log1p(float(probe.feature_statistic(InverseCondition(), images=images).values.sum()))
    shape = tuple(probe.batches[0].image.shape[1:])
    size = shape[:1] + tuple(max(LARGE_SIDE, side) for side in shape[1:]) if len(shape) == 3 else shape
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
    usual = tuple(probe.batches[0].image.shape[1:])
    return OWN_SIZE if is_small(usual) and probe.output_jet().shape == usual else ""
