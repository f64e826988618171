"""Statistics of feature maps: how linearly independent their rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from firstlight.probe.features import MapStack

# The default number of rows that sampled statistics draw from a map, as published
FEW_ROWS = 8
_NORMALIZING = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
# The output of a normalization layer has the size of its gain; below this fraction it is the noise of a constant
_NOISE_RMS = 1e-3
# A row whose variance is below this fraction of its mean square is constant
_ROUNDING = 1e-12


@dataclass(frozen=True)
class InverseCondition:
    """sigma_min / sigma_max of each map: 1 for orthogonal rows of equal length, 0 for linearly dependent rows.

    A vector has a single singular value, so its ratio is 1; a map of zeros has 0.
    """

    by_rows: ClassVar[bool] = False

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        if min(stack.rows, stack.columns) <= 1:
            return (stack.energies > 0).double()
        wanted = _signals(stack)
        if stack.by_columns:
            wanted &= ~_centered_by_normalization(stack)
        return _ratios(stack.grams, wanted)


@dataclass(frozen=True)
class LargestSingularValue:
    """sigma_max of each map: its operator norm. That of a vector is its length."""

    by_rows: ClassVar[bool] = False

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        largest: Tensor = torch.linalg.eigvalsh(stack.grams)[:, -1]
        return largest.clamp(min=0).sqrt()


@dataclass(frozen=True)
class SampledInverseCondition:
    """n / b times sigma_min / sigma_max of b random rows of each map of n rows; smaller maps are used as a whole."""

    rows: int
    by_rows: ClassVar[bool] = True

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        if stack.rows < self.rows:
            return InverseCondition()(stack, generator)
        grams, _ = _sampled(stack, self.rows, generator)
        return stack.rows / self.rows * _ratios(grams, _signals(stack), rank=min(self.rows, stack.columns))


@dataclass(frozen=True)
class SmallestCorrelation:
    """The smallest eigenvalue of the matrix of Pearson correlations between rows; 0 if a row is constant.

    It is 0 for vectors and for maps with at least as many rows as columns.

    Attributes:
        rows: The number of rows to draw at random from each map of n rows; the eigenvalue is multiplied by n / rows.
            Smaller maps are used as a whole. Default: all rows.
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
    """Return sigma_min / sigma_max over the largest `rank` singular values of the wanted maps; 0 for the others."""
    eigenvalues = torch.linalg.eigvalsh(grams if bool(wanted.all()) else grams[wanted])
    smallest, largest = eigenvalues[:, -(rank or grams.shape[1])].clamp(min=0), eigenvalues[:, -1]
    ratios = torch.zeros(len(grams), dtype=torch.float64, device=grams.device)
    ratios[wanted] = torch.where(largest > 0, (smallest / largest).sqrt(), 0.0)
    return ratios


def _sampled(stack: MapStack, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return Gram matrices and sums of rows drawn without replacement, independently for each map."""
    maps = torch.arange(len(stack.grams), device=stack.grams.device)[:, None]
    drawn = torch.stack([torch.randperm(stack.rows, generator=generator)[:rows] for _ in maps]).to(maps.device)
    return stack.row_grams[maps[:, :, None], drawn[:, :, None], drawn[:, None, :]], stack.row_sums[maps, drawn]


def _signals(stack: MapStack) -> Tensor:
    """Return which maps are more than rounding errors, which a normalization layer makes of a constant."""
    mean_squares = (stack.energies / (stack.rows * stack.columns)).tolist()
    noise = [
        mean_square <= 0.1 and isinstance(module, _NORMALIZING) and mean_square <= _NOISE_RMS**2 * _squared_gain(module)
        for module, mean_square in zip(stack.modules, mean_squares, strict=True)
    ]
    return ~torch.tensor(noise, device=stack.grams.device)


def _squared_gain(normalization: nn.Module) -> float:
    weight = getattr(normalization, "weight", None)
    return 1.0 if weight is None else float(weight.detach().square().mean())


def _centered_by_normalization(stack: MapStack) -> Tensor:
    """Return which maps have rows of mean zero, because of which one singular value is zero."""
    normalized = [isinstance(module, _NORMALIZING) for module in stack.modules]
    centered = stack.grams.sum((1, 2)) <= 1e-10 * stack.energies
    return centered & torch.tensor(normalized, device=centered.device)


def split_vectors(ratios: Sequence[float]) -> tuple[list[float], list[float]]:
    """Split ratios into those of maps and those of the vectors after the last map, which are exactly 1."""
    count = len(ratios)
    while count > 1 and ratios[count - 1] == 1:
        count -= 1
    return list(ratios[:count]), list(ratios[count:])
