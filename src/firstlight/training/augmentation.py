"""Data augmentation: random changes of images, the same on every device."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.training.recipe import TrainingRecipe


def augmented(x: Tensor, recipe: TrainingRecipe, generator: torch.Generator) -> Tensor:
    """Return a batch of images, of shape (samples, channels, height, width), augmented as the recipe says."""
    if recipe.flip:
        mirrored = torch.rand(len(x), generator=generator) < 0.5
        x = torch.where(mirrored[:, None, None, None].to(x.device), x.flip(-1), x)
    if recipe.crop:
        x = _moved(x, recipe.crop, generator)
    return _cut_out(x, recipe.cutout, generator) if recipe.cutout else x


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


def _within(middle: Tensor, side: int, length: int) -> Tensor:
    """Return which places along an axis lie within the square around each middle."""
    start = middle - side // 2
    places = torch.arange(length)
    return (start <= places) & (places < start + side)
