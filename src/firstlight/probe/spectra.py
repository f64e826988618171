"""How linearly independent the rows of a feature map are: two ways to say it in one number."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.probe.features import MapStack

_NORMALISING = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
# A normalisation layer answers with entries of the size of its gain, unless it was fed a constant: then with noise
_NOISE_RMS = 1e-3


@dataclass(frozen=True)
class InverseCondition:
    """sigma_min / sigma_max of each map: 1 for orthogonal rows of one length, 0 if a row repeats others or all is zero.

    A vector has one singular value, so that its ratio is 1.
    """

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor:
        return inverse_condition(stack)


def inverse_condition(stack: MapStack) -> Tensor:
    if min(stack.rows, stack.columns) <= 1:
        return (stack.energies > 0).double()
    wanted = _signals(stack)
    if stack.by_columns:
        wanted &= ~_centred_by_normalisation(stack)
    eigenvalues = torch.linalg.eigvalsh(stack.grams if bool(wanted.all()) else stack.grams[wanted])
    smallest, largest = eigenvalues[:, 0].clamp(min=0), eigenvalues[:, -1]
    ratios = torch.zeros_like(stack.energies)
    ratios[wanted] = torch.where(largest > 0, (smallest / largest).sqrt(), 0.0)
    return ratios


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
