"""HNAS (Shu et al., NeurIPS 2022): Theorem 3, the tangent kernel of wide and of deep linear networks."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.core.seeds import torch_generator
from firstlight.core.statistics import Numbers
from firstlight.papers.base import Finding, Findings, Scale
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.probe.kernel import coupled_gram

THEOREM3 = read_paper("hnas")["theorem3"]
WIDTHS, DEPTHS = (16, 32, 64), (2, 3, 5)
EXACT = Scale("condition number", tolerance=1e-4, widest=1.0)


class Wide(nn.Module):
    """f(x) = 1 . (W_1 + ... + W_L) x: all matrices side by side."""

    def __init__(self, width: int, depth: int, generator: torch.Generator) -> None:
        super().__init__()
        self.matrices = _drawn(width, depth, generator)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x @ matrix.T for matrix in self.matrices]).sum((0, 2))


class Deep(nn.Module):
    """f(x) = 1 . W_L ... W_1 x: all matrices one after the other."""

    def __init__(self, width: int, depth: int, generator: torch.Generator) -> None:
        super().__init__()
        self.matrices = _drawn(width, depth, generator)

    def forward(self, x: Tensor) -> Tensor:
        for matrix in self.matrices:
            x = x @ matrix.T
        return x.sum(1)


def _drawn(width: int, depth: int, generator: torch.Generator) -> nn.ParameterList:
    draws = [torch.randn(width, width, generator=generator, dtype=torch.double) for _ in range(depth)]
    return nn.ParameterList(map(nn.Parameter, draws))


Kind = type[Wide] | type[Deep]
KINDS: tuple[Kind, ...] = (Wide, Deep)


def expected_scale(kind: Kind, width: int, depth: int) -> float:
    """Return the factor of the identity that the kernel is, or is in expectation.

        wide: n L        deep: n^L L

    The gradient with respect to W_i is 1 times x in the wide network, and the product of what is behind W_i and what
    is before it in the deep one; each of the L - 1 other matrices contributes a factor n.
    """
    return float(width * depth if kind is Wide else width**depth * depth)


def orthonormal(inputs: int, width: int, generator: torch.Generator) -> Tensor:
    """Return inputs, one in a row, whose products with each other are 0 and with themselves 1, as in the theorem."""
    if inputs > width:
        raise SettingError(f"samples is {inputs}; at most {width} inputs of {width} numbers are orthogonal.")
    drawn = torch.randn(width, inputs, generator=generator, dtype=torch.double)
    found: Tensor = torch.linalg.qr(drawn).Q
    return found.T.contiguous()


def kernel(kind: Kind, width: int, depth: int, inputs: int, seed: int) -> Tensor:
    """Return the tangent kernel of a network drawn from the standard normal distribution."""
    generator = torch_generator(seed, "linear networks", f"{kind.__name__} {width} {depth}")
    network = kind(width, depth, generator)
    return coupled_gram(network(orthonormal(inputs, width, generator)), list(network.parameters()))


def _theorem3(lab: Lab) -> Findings:
    lines: list[Finding] = []
    for kind, width, depth in itertools.product(KINDS, WIDTHS, DEPTHS):
        kernels = [kernel(kind, width, depth, lab.samples, seed) for seed in lab.seeds]
        on, name = f"width {width}, depth {depth}", kind.__name__.lower()
        published = THEOREM3.at("any width and depth", "kappa, wide") if kind is Wide else None
        kappa = lab.estimate(_median, np.array(list(map(condition, kernels))))
        lines.append(Finding(f"kappa, {name}, median", on, kappa, published, EXACT))
        expected = expected_scale(kind, width, depth)
        sizes = np.array([float(theta.trace()) / len(theta) / expected for theta in kernels])
        lines.append(Finding(f"mean of the diagonal over its expectation, {name}", on, lab.estimate(_mean, sizes)))
    return Findings(tuple(lines))


def condition(theta: Tensor) -> float:
    """Return the largest eigenvalue over the smallest."""
    eigenvalues = torch.linalg.eigvalsh(theta)
    return float(eigenvalues[-1] / eigenvalues[0])


def _median(values: Numbers) -> float:
    return float(np.median(values))


def _mean(values: Numbers) -> float:
    return float(np.mean(values))


hnas_theorem3 = Experiment(
    "hnas-theorem3",
    (THEOREM3,),
    "the condition number of wide and of deep linear networks, and the size of their kernels",
    (),
    samples=16,
    run=_theorem3,
    remarks=(
        "Inputs are orthonormal, as in the theorem. The kernel of the wide network is n L times the identity; that of "
        "the deep one is n^L L times the identity in expectation only, so that its condition number is above 1. Seeds "
        "draw weights and inputs.",
    ),
    seeds=100,
    sampled=("images",),
)
