"""How linearly independent the rows of a feature map are: ways to say it in one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from firstlight.probe.features import MapStack

# How many rows of a map are drawn where not all count, unless said otherwise; as published
FEW_ROWS = 8
_NORMALISING = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
# A normalisation layer answers with entries of the size of its gain, unless it was fed a constant: then with noise
_NOISE_RMS = 1e-3
# A row whose variance is smaller than this part of its mean square does not vary
_ROUNDING = 1e-12


@dataclass(frozen=True)
class InverseCondition:
    """sigma_min / sigma_max of each map: 1 for orthogonal rows of one length, 0 if a row repeats others or all is zero.

    A vector has one singular value, so that its ratio is 1.
    """

    by_rows: ClassVar[bool] = False

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        if min(stack.rows, stack.columns) <= 1:
            return (stack.energies > 0).double()
        wanted = _signals(stack)
        if stack.by_columns:
            wanted &= ~_centred_by_normalisation(stack)
        return _ratios(stack.grams, wanted)


@dataclass(frozen=True)
class LargestSingularValue:
    """sigma_max of each map: how far it can stretch a vector. That of a vector is its length."""

    by_rows: ClassVar[bool] = False

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        largest: Tensor = torch.linalg.eigvalsh(stack.grams)[:, -1]
        return largest.clamp(min=0).sqrt()


@dataclass(frozen=True)
class SampledInverseCondition:
    """n / b times sigma_min / sigma_max of b rows drawn at random from each map's n; maps of fewer rows as a whole."""

    rows: int
    by_rows: ClassVar[bool] = True

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        if stack.rows < self.rows:
            return InverseCondition()(stack, generator)
        grams, _ = _sampled(stack, self.rows, generator)
        return stack.rows / self.rows * _ratios(grams, _signals(stack), rank=min(self.rows, stack.columns))


@dataclass(frozen=True)
class SmallestCorrelation:
    """The smallest eigenvalue of the matrix of Pearson correlations between rows; 0 with a row that does not vary.

    It is 0 for vectors and wherever there are at least as many rows as columns. With `rows`, so many rows are drawn at
    random from each map's n and the eigenvalue is multiplied by n / rows; maps of fewer rows count as a whole.
    """

    rows: int | None = None
    by_rows: ClassVar[bool] = True

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        count = stack.rows if self.rows is None else min(self.rows, stack.rows)
        if count >= stack.columns:
            return torch.zeros_like(stack.energies)
        grams, sums = stack.row_grams, stack.row_sums
        if count < stack.rows:
            grams, sums = _sampled(stack, count, generator)
        covariances = grams - sums[:, :, None] * sums[:, None, :] / stack.columns
        variances = covariances.diagonal(dim1=1, dim2=2)
        varies = variances > _ROUNDING * grams.diagonal(dim1=1, dim2=2)
        scales = torch.where(varies, variances.clamp(min=0).rsqrt(), 0.0)
        correlations = covariances * scales[:, :, None] * scales[:, None, :]
        smallest: Tensor = torch.linalg.eigvalsh(correlations)[:, 0]
        return smallest.clamp(min=0) * (stack.rows / count)


def _ratios(grams: Tensor, wanted: Tensor, rank: int | None = None) -> Tensor:
    """sigma_min / sigma_max over the largest `rank` singular values of the wanted maps; 0 for the others."""
    eigenvalues = torch.linalg.eigvalsh(grams if bool(wanted.all()) else grams[wanted])
    smallest, largest = eigenvalues[:, -(rank or grams.shape[1])].clamp(min=0), eigenvalues[:, -1]
    ratios = torch.zeros(len(grams), dtype=torch.float64, device=grams.device)
    ratios[wanted] = torch.where(largest > 0, (smallest / largest).sqrt(), 0.0)
    return ratios


def _sampled(stack: MapStack, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Gram matrices and sums of rows drawn without replacement, others for each map."""
    maps = torch.arange(len(stack.grams), device=stack.grams.device)[:, None]
    drawn = torch.stack([torch.randperm(stack.rows, generator=generator)[:rows] for _ in maps]).to(maps.device)
    return stack.row_grams[maps[:, :, None], drawn[:, :, None], drawn[:, None, :]], stack.row_sums[maps, drawn]


def _signals(stack: MapStack) -> Tensor:
    """Which maps hold more than rounding: a normalisation that was fed a constant answers far below its gain."""
    mean_squares = (stack.energies / (stack.rows * stack.columns)).tolist()
    noise = [
        mean_square <= 0.1 and isinstance(module, _NORMALISING) and mean_square <= _NOISE_RMS**2 * _squared_gain(module)
        for module, mean_square in zip(stack.modules, mean_squares, strict=True)
    ]
    return ~torch.tensor(noise, device=stack.grams.device)


def _squared_gain(normalisation: nn.Module) -> float:
    weight = getattr(normalisation, "weight", None)
    return 1.0 if weight is None else float(weight.detach().square().mean())


def _centred_by_normalisation(stack: MapStack) -> Tensor:
    """Which maps have rows of mean zero, so that the columns add up to nothing: one singular value is zero."""
    normalised = [isinstance(module, _NORMALISING) for module in stack.modules]
    centred = stack.grams.sum((1, 2)) <= 1e-10 * stack.energies
    return centred & torch.tensor(normalised, device=centred.device)


def split_vectors(ratios: Sequence[float]) -> tuple[list[float], list[float]]:
    """Maps, and the vectors behind the last of them: these have a ratio of exactly 1."""
    count = len(ratios)
    while count > 1 and ratios[count - 1] == 1:
        count -= 1
    return list(ratios[:count]), list(ratios[count:])
