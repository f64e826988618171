"""Dextr: linear independence of feature maps and curvature of the output (Asthana et al., TMLR 2025, Eq. 8)."""

from __future__ import annotations

from math import inf, isinf, isnan, log1p, nan
from typing import Annotated, Literal

import torch

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.probe.curvature import LARGE_SIDE, is_small
from firstlight.probe.curvature import curvature as curvature_of
from firstlight.probe.features import FeatureValues
from firstlight.probe.spectra import FEW_ROWS, InverseCondition, SampledInverseCondition
from firstlight.proxies.base import InSpaces, Parts, proxy, values_since
from firstlight.proxies.sizes import Per, size_for

# The size of an input on the curve: at least 64 pixels, or that of the inputs; or no curve at all
Curve = Literal["large", "own", "none"]
# What the published code does in other spaces than NAS-Bench-201
AS_PUBLISHED = {
    **{space: {"curve": "own", "images": 32} for space in ("darts", "nasbench101", "transnas-micro")},
    **{space: {"curve": "own"} for space in ("autoformer-base", "autoformer-small", "autoformer-tiny")},
    "nats-sss": {"curve": "none"},
}

VECTORS = "every output is a vector, so that independence only counts modules"
NO_SIGNAL = "the output does not change with the input: no curvature"
STILL = (
    "the pooling passes no signal on (BatchNorm gives each channel of a single image a mean of 0): the output moves by "
    "rounding errors only, and its curvature is infinite"
)
ON_A_LINE = "a single output changes with the input, and a line has no curvature; measure independence alone"
OWN_SIZE = "the network takes no larger inputs, so its curvature was measured at its own input size: expect noise"
NO_CURVE = "without a curve: independence alone"
TILES = "the published code fails on images in tiles: independence alone"
Variant = Annotated[Literal["paper", "official"], InSpaces({"official": AS_PUBLISHED})]


@values_since(4)
@proxy(reference="Asthana2025dextr", revision=5, expects=(InverseCondition(),))
def dextr(probe: Probe, *, variant: Variant = "paper", images: int = 1, curve: Curve = "large") -> Parts:
    """Independent channels, and an output of high curvature.

        M = ln(1 + S) ln(1 + k) / ( ln(1 + S) + ln(1 + k) )
        S = sum over all module outputs X of sigma_min(X) / sigma_max(X)
        k = curvature of the output as the input moves along a circle

    M is half the harmonic mean of ln(1 + S) and ln(1 + k) (Eq. 8). S is high when no channel repeats another, k when
    small changes of the input bend the output. A network that no signal passes through has no curvature and the lowest
    score, 0. If a signal passes through all layers, but the final pooling does not pass it on (BatchNorm subtracts the
    mean of a single image, and only pooling follows), the output moves by rounding errors only. The smaller the
    velocity of the output, the larger k, and M tends to ln(1 + S): that is the score, with a note.

    Scale: about 1 to 3 on NAS-Bench-201. Higher is better. Cost: about seven forward passes of one image.

    Args:
        variant: The formula of the `paper`, or what the `official` code does: ten random output coordinates, the
            curvature of rounding errors if there is no other, and ln(1 + S) alone if there is none at all. In some
            spaces, it also has other defaults: `images=32` and `curve=own` in nasbench101, darts and transnas-micro,
            `curve=own` in the AutoFormer spaces, `curve=none` in nats-sss.
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
        curve: The size of images on the curve: `large` for at least 64x64 pixels, at which the curvature is more than
            noise, or their `own`. `none` is for no curve: the score is ln(1 + S).
    """
    found = probe.feature_statistic(InverseCondition(), images=images)
    if variant == "official":
        return _official(probe, found, curve)
    if curve == "none":
        return Parts(_log_sum(found), note=NO_CURVE)
    return _combined(probe, found, _shape(probe) if curve == "own" else None)


@values_since(3)
@proxy(reference="Asthana2025dextr", revision=4, expects=(SampledInverseCondition(FEW_ROWS),))
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
def independence(probe: Probe, *, images: int = 1, per: Per = "network") -> Parts:
    """How linearly independent channels are: a part of Dextr.

        M = ln(1 + S)
        S = sum over all module outputs X of sigma_min(X) / sigma_max(X)

    Scale: about 1.3 to 4.5 on NAS-Bench-201. Higher is better. Cost: about three forward passes of one image.

    Args:
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
        per: Divide S by the number of outputs (`layer`), of parameters (`parameter`) or of multiply-accumulates
            (`mac`). Published is the sum over the `network`.
    """
    found = probe.feature_statistic(InverseCondition(), images=images)
    if not found.matrices:
        raise UnsupportedError(f"{VECTORS}.")
    return Parts(_log_sum(found, size_for(probe, per, len(found.values))))


@values_since(3)
@proxy(reference="Asthana2025dextr", revision=4)
def curvature(probe: Probe) -> Parts:
    """Curvature of the output along a curve: a part of Dextr.

        M = ln(1 + k)
        k = sqrt( |v|^2 |a|^2 - (v . a)^2 ) / |v|^3

    v and a are the velocity and the acceleration of the output as the input moves along a random circle of unit radius.
    M = 0 if no signal reaches the output, and there is no M if the output moves by rounding errors only. Images of
    less than 64 pixels in width or height are enlarged to twice that. If the network takes only its own size, a note
    says so, and the value is mostly noise.

    Scale: about 3 to 8 on NAS-Bench-201. Higher is better. Cost: about four forward passes of one image.
    """
    k = curvature_term(probe)
    if k is None:
        return Parts(0.0, note=NO_SIGNAL)
    return Parts(k, note=STILL if isinf(k) else _size_note(probe))


def _combined(probe: Probe, found: FeatureValues, size: tuple[int, ...] | None = None) -> Parts:
    s, k = _log_sum(found), curvature_term(probe, size)
    if k is None:
        return Parts(0.0, note=NO_SIGNAL, independence=s, curvature=0.0)
    still = STILL if isinf(k) else ""
    vectors = "" if found.matrices else VECTORS
    note = "; ".join(filter(None, (still, vectors, "" if still or size else _size_note(probe))))
    return Parts(_half_harmonic_mean(s, k), note=note, independence=s, curvature=k)


def _log_sum(found: FeatureValues, size: int = 1) -> float:
    return nan if found.not_finite else log1p(float(found.values.sum()) / size)


def curvature_term(probe: Probe, size: tuple[int, ...] | None = None) -> float | None:
    """Return ln(1 + k); None without a signal, infinity if the output moves by rounding errors only."""
    kappa = probe.output_curvature(size=size)
    if int(probe.output_jet(size=size).velocity.any(0).sum()) == 1:
        raise UnsupportedError(f"{ON_A_LINE}.")
    return None if kappa is None else log1p(kappa)


def _official(probe: Probe, found: FeatureValues, curve: Curve) -> Parts:
    """Return the score of the published code, with its fallbacks where something cannot be computed."""
    s, shape = log1p(float(found.values.sum())), _shape(probe)
    if curve == "none" or len(shape) > 3:
        return Parts(s, note=NO_CURVE if curve == "none" else TILES, independence=s, curvature=0.0)
    enlarged = curve == "large" and len(shape) == 3
    size = shape[:1] + tuple(max(LARGE_SIDE, side) for side in shape[1:]) if enlarged else shape
    try:
        jet = probe.output_jet(size=size)
    except UnsupportedError as error:
        return Parts(s, note=f"no curvature: {error}", independence=s, curvature=0.0)
    outputs = jet.velocity.shape[1]
    drawn = torch.randint(outputs, (10,), generator=torch_generator(probe.seed, "curvature coordinates"))
    kappa = curvature_of(jet, drawn)  # that of rounding errors, if there is no other
    if kappa is None or isnan(kappa):
        note = NO_SIGNAL if kappa is None else "the output is not a number: no curvature"
        return Parts(s, note=note, independence=s, curvature=0.0)
    return Parts(_half_harmonic_mean(s, log1p(kappa)), independence=s, curvature=log1p(kappa))


def _half_harmonic_mean(s: float, k: float) -> float:
    if k == inf:
        return s
    return s * k / (s + k) if s + k else 0.0


def _shape(probe: Probe) -> tuple[int, ...]:
    return tuple(probe.batches[0].image.shape[1:])


def _size_note(probe: Probe) -> str:
    usual = _shape(probe)
    return OWN_SIZE if is_small(usual) and probe.output_jet().shape == usual else ""
