"""Random changes of images that leave their class as it is; the generator decides, on any device alike."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.evaluate.recipe import TrainingRecipe


def augmented(x: Tensor, recipe: TrainingRecipe, generator: torch.Generator) -> Tensor:
    if recipe.flip:
        mirrored = torch.rand(len(x), generator=generator) < 0.5
        x = torch.where(mirrored[:, None, None, None].to(x.device), x.flip(-1), x)
    return _moved(x, recipe.crop, generator) if recipe.crop else x


def _moved(x: Tensor, pixels: int, generator: torch.Generator) -> Tensor:
    """Each image shifted by -pixels to pixels along both axes; what comes into view is 0, the mean of a channel."""
    count, _, height, width = x.shape
    shift = torch.randint(2 * pixels + 1, (2, count, 1), generator=generator).to(x.device)
    rows = shift[0] + torch.arange(height, device=x.device)
    columns = shift[1] + torch.arange(width, device=x.device)
    padded = F.pad(x, (pixels,) * 4).permute(0, 2, 3, 1)
    image = torch.arange(count, device=x.device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()
