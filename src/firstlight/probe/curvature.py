"""Curvature of the output as the input moves along a circle."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe.jet import Jet, constant

# The side of an image, in pixels, from which on curvature is more than noise
LARGE_SIDE = 64
# The number of principal components of a curve that are shown
COMPONENTS = 3
# Curvature, relative to the size of the output, above which it may be that of rounding errors. Networks of the
# benchmarks stay below, among them 685 of NAS-Bench-201 with three seeds; rounding errors of float32 gave 2e4 to 2e8.
DOUBTFUL = 1e4
# From float32 to float64, rounding errors shrink to about 2e-9 (measured: 1e-9 to 4e-9); real motion does not
SHRINKS_TO = 1e-6


@dataclass(frozen=True)
class OutputJet:
    """Value, velocity and acceleration of all outputs at each point of the curve, shape (points, outputs).

    They are carried through the network in its own precision and reduced in float64. For NAS-Bench-201 in float32, the
    curvature is within 1 % of that in float64 for nine networks out of ten (8 % for the worst of 150, where a ReLU
    flips). Another draw of the circle changes it far more, and float64 takes 2.4 times as long.
    """

    value: Tensor
    velocity: Tensor
    acceleration: Tensor
    shape: tuple[int, ...]  # of an input on the curve


def is_small(shape: tuple[int, ...]) -> bool:
    """Return True if images of this shape are so small that curvature is mostly noise."""
    return len(shape) == 3 and min(shape[1:]) < LARGE_SIDE


@functools.lru_cache(maxsize=4)
def circle_basis(dimension: int, seed: int) -> Tensor:
    """Draw two orthonormal directions, shape (dimension, 2), in float64; the same for all networks of a run."""
    normal = torch.randn(dimension, 2, generator=torch_generator(seed, "curve"), dtype=torch.float64)
    basis: Tensor = torch.linalg.svd(normal, full_matrices=False).U
    return basis


def output_jet(
    model: Callable[[Any], Any], shape: tuple[int, ...], basis: Tensor, thetas: tuple[float, ...], like: Tensor
) -> OutputJet:
    """Return the derivatives of the output along theta -> basis @ (cos theta, sin theta), with a batch of one each."""
    points = [_derivatives(model, _on_circle(basis, theta).view(3, *shape).to(like)) for theta in thetas]
    value, velocity, acceleration = torch.cat(points, dim=1)
    return OutputJet(value, velocity, acceleration, shape)


def output_curve(
    model: Callable[[Tensor], Any], shape: tuple[int, ...], basis: Tensor, thetas: tuple[float, ...], like: Tensor
) -> Tensor:
    """Return the outputs along theta -> basis @ (cos theta, sin theta), shape (points, outputs), in float64."""
    with torch.no_grad():
        points = [model(_on_circle(basis, theta)[:1].view(1, *shape).to(like)) for theta in thetas]
    return torch.cat([point.reshape(1, -1).double().cpu() for point in points])


def _on_circle(basis: Tensor, theta: float) -> Tensor:
    """Return value, velocity and acceleration of the curve at theta, in float64."""
    cos, sin = math.cos(theta), math.sin(theta)
    coefficients = torch.tensor([(cos, sin), (-sin, cos), (-cos, -sin)], dtype=torch.float64)
    return coefficients @ basis.double().cpu().T


def _derivatives(model: Callable[[Any], Any], parts: Tensor) -> Tensor:
    if parts.ndim == 4:  # convolutions of images on the CPU are a fifth faster with channels last
        parts = parts.contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        out = model(Jet(parts.unsqueeze(1)))
    if isinstance(out, Tensor):  # the output does not depend on the input
        out = constant(out)
    if not isinstance(out, Jet):
        kind = type(out).__name__
        raise UnsupportedError(
            f"curvature needs a network that returns a single tensor; this one returns a {kind}. "
            "Wrap it in a module that returns the logits alone."
        )
    parts = out.parts.reshape(3, 1, -1).double().cpu()
    # derivatives of NaN are meaningless, even where they happen to be finite
    return parts if bool(parts[0].isfinite().all()) else torch.full_like(parts, math.nan)


def curvature(jet: OutputJet, coordinates: Tensor | None = None) -> float | None:
    """Return the sum over the points of |v|^-3 sqrt(|v|^2 |a|^2 - (v.a)^2); None if the output is constant."""
    velocity, acceleration = jet.velocity, jet.acceleration
    if coordinates is not None:
        velocity, acceleration = velocity[:, coordinates], acceleration[:, coordinates]
    if bool((velocity.square().sum(1) == 0).any()):
        return None
    return float(_curvatures(velocity, acceleration).sum())


def _curvatures(velocity: Tensor, acceleration: Tensor) -> Tensor:
    """Return the curvature at each point; NaN where the output is constant."""
    vv, aa, va = (velocity**2).sum(1), (acceleration**2).sum(1), (velocity * acceleration).sum(1)
    return vv**-1.5 * (vv * aa - va**2).clamp(min=0).sqrt()


def is_doubtful(jet: OutputJet) -> bool:
    """Return True if the curvature is so large, for the size of the output, that it may be that of rounding errors.

    In a network with normalization, rounding errors are about eps times the derivatives of the features, and the
    curvature |a| / |v|^2 is then 1 / eps times its usual size.
    """
    sharpness = _curvatures(jet.velocity, jet.acceleration) * jet.value.norm(dim=1).clamp(min=1)
    return bool((sharpness > DOUBTFUL).any())


def is_only_rounding(coarse: OutputJet, fine: OutputJet) -> bool:
    """Return True if the velocity in float32 all but vanishes in float64, as rounding errors do."""
    before, after = coarse.velocity.norm(dim=1), fine.velocity.norm(dim=1)
    return bool(((after > 0) & (after < SHRINKS_TO * before)).any())


def principal_components(curve: Tensor) -> tuple[Tensor, float]:
    """Return the curve in its first three principal components, scaled to a mean square radius of 1, and their share
    of the variance."""
    centered = curve - curve.mean(0)
    if float(centered.abs().max()) == 0:
        raise UnsupportedError("the output does not depend on the input: there is no curve.")
    u, sigma, _ = torch.linalg.svd(centered, full_matrices=False)
    kept = min(COMPONENTS, len(sigma))
    places = torch.zeros(len(curve), COMPONENTS, dtype=curve.dtype)
    places[:, :kept] = u[:, :kept] * sigma[:kept]
    radius = places.square().sum(1).mean().sqrt()
    return places / radius, float(sigma[:kept].square().sum() / sigma.square().sum())


def bending(places: Tensor) -> float:
    """Return the length of a closed curve of unit mean square radius, relative to that of a circle."""
    steps = places - places.roll(1, dims=0)
    return float(torch.linalg.vector_norm(steps, dim=1).sum()) / (2 * math.pi)
