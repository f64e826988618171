"""How strongly the output bends as the input moves along a circle."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.errors import UnsupportedError
from firstlight.probe.jet import Jet
from firstlight.seeds import torch_generator


@dataclass(frozen=True)
class OutputJet:
    """Velocity and acceleration of all outputs at each point of the curve, shape (points, outputs), in float64."""

    velocity: Tensor
    acceleration: Tensor


@functools.lru_cache(maxsize=4)
def circle_basis(dimension: int, seed: int) -> Tensor:
    """Two random orthonormal directions, shape (dimension, 2), in float64; the same for all networks of a run."""
    normal = torch.randn(dimension, 2, generator=torch_generator(seed, "curve"), dtype=torch.float64)
    basis: Tensor = torch.linalg.svd(normal, full_matrices=False).U
    return basis


def output_jet(
    model: nn.Module, shape: tuple[int, ...], basis: Tensor, thetas: tuple[float, ...], like: Tensor
) -> OutputJet:
    """Derivatives of the output along theta -> basis @ (cos theta, sin theta), one batch of one for each theta."""
    points = [_derivatives(model, _on_circle(basis, theta).view(3, *shape).to(like)) for theta in thetas]
    _, velocity, acceleration = torch.cat(points, dim=1)
    return OutputJet(velocity, acceleration)


def _on_circle(basis: Tensor, theta: float) -> Tensor:
    """Value, velocity and acceleration of the curve at theta, in float64."""
    cos, sin = math.cos(theta), math.sin(theta)
    coefficients = torch.tensor([(cos, sin), (-sin, cos), (-cos, -sin)], dtype=torch.float64)
    return coefficients @ basis.to(dtype=torch.float64, device="cpu").T


def _derivatives(model: nn.Module, parts: Tensor) -> Tensor:
    if parts.ndim == 4:  # images: convolutions on the CPU are a fifth faster on pixels that lie together
        parts = parts.contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        out = model(Jet(parts.unsqueeze(1)))
    if isinstance(out, Tensor):  # nothing that moves has reached the output
        out = Jet(torch.stack([out, torch.zeros_like(out), torch.zeros_like(out)]))
    if not isinstance(out, Jet):
        kind = type(out).__name__
        raise UnsupportedError(f"curvature needs a network that returns one tensor; this one returns a {kind}.")
    return out.parts.flatten(2).to(dtype=torch.float64, device="cpu")


def curvature(jet: OutputJet, coordinates: Tensor | None = None) -> float | None:
    """Sum over the points of |v|^-3 sqrt(|v|^2 |a|^2 - (v.a)^2); None where the output does not move or overflows."""
    velocity, acceleration = jet.velocity, jet.acceleration
    if coordinates is not None:
        velocity, acceleration = velocity[:, coordinates], acceleration[:, coordinates]
    vv, aa, va = (velocity**2).sum(1), (acceleration**2).sum(1), (velocity * acceleration).sum(1)
    kappa = float((vv**-1.5 * (vv * aa - va**2).clamp(min=0).sqrt()).sum())
    return kappa if math.isfinite(kappa) else None
