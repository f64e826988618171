"""Data augmentation: random changes of images, the same on every device."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.training.recipe import TrainingRecipe

# The share of the image that an erased rectangle has, and how many times as long as wide it may be
SMALLEST_ERASED, LARGEST_ERASED, LONGEST_ERASED = 0.02, 1 / 3, 10 / 3


def augmented(x: Tensor, recipe: TrainingRecipe, generator: torch.Generator) -> Tensor:
    """Return a batch of images, of shape (samples, channels, height, width), augmented as the recipe says."""
    if recipe.flip:
        mirrored = torch.rand(len(x), generator=generator) < 0.5
        x = torch.where(mirrored[:, None, None, None].to(x.device), x.flip(-1), x)
    if recipe.crop:
        x = _moved(x, recipe.crop, generator)
    if recipe.cutout:
        x = _cut_out(x, recipe.cutout, generator)
    return _erased(x, recipe.erasing, generator) if recipe.erasing else x


def mixed_up(x: Tensor, y: Tensor, classes: int, alpha: float, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Mix each sample of a batch with another one, with one share for all (Zhang et al., ICLR 2018).

    Args:
        x: The inputs.
        y: The classes.
        classes: The number of classes.
        alpha: Both parameters of the beta distribution that the share is drawn from.
        generator: The random numbers.

    Returns:
        The mixed inputs, and a distribution over classes for each.
    """
    share = float(generator.beta(alpha, alpha))
    other = torch.from_numpy(generator.permutation(len(x))).to(y.device)
    targets = F.one_hot(y, classes).to(x.dtype)
    return torch.lerp(x[other], x, share), torch.lerp(targets[other], targets, share)


def _moved(x: Tensor, pixels: int, generator: torch.Generator) -> Tensor:
    """Shift each image by at most `pixels` along both axes; new pixels are 0, the mean of a channel."""
    count, _, height, width = x.shape
    shift = torch.randint(2 * pixels + 1, (2, count, 1), generator=generator).to(x.device)
    rows = shift[0] + torch.arange(height, device=x.device)
    columns = shift[1] + torch.arange(width, device=x.device)
    padded = F.pad(x, (pixels,) * 4).permute(0, 2, 3, 1)
    image = torch.arange(count, device=x.device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()


def _cut_out(x: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """Set a square of each image to 0, the mean of a channel. Its center is any pixel; it may lie partly outside."""
    count, _, height, width = x.shape
    rows, columns = (
        _within(torch.randint(length, (count, 1), generator=generator), side, length).to(x.device)
        for length in (height, width)
    )
    return x.masked_fill((rows[:, :, None] & columns[:, None, :])[:, None], 0)


def _erased(x: Tensor, probability: float, generator: torch.Generator) -> Tensor:
    """Set a rectangle inside some images to 0, the mean of a channel (Zhong et al., AAAI 2020)."""
    count, _, height, width = x.shape
    drawn, area, ratio, top, left = torch.rand(5, count, 1, generator=generator)
    size = (SMALLEST_ERASED + area * (LARGEST_ERASED - SMALLEST_ERASED)) * height * width
    stretched = torch.exp((2 * ratio - 1) * math.log(LONGEST_ERASED))
    inside = []
    for length, side, start in ((height, (size * stretched).sqrt(), top), (width, (size / stretched).sqrt(), left)):
        side = side.round().clamp(1, length)
        first = (start * (length - side + 1)).floor()
        places = torch.arange(length)
        inside.append(((first <= places) & (places < first + side) & (drawn < probability)).to(x.device))
    return x.masked_fill((inside[0][:, :, None] & inside[1][:, None, :])[:, None], 0)


def _within(middle: Tensor, side: int, length: int) -> Tensor:
    """Return which places along an axis lie within the square around each middle."""
    start = middle - side // 2
    places = torch.arange(length)
    return (start <= places) & (places < start + side)
