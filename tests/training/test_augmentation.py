"""Flips, shifts and cuts do to each image what they say, and nothing else."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from torch import Tensor

from firstlight.training.augmentation import augmented
from firstlight.training.recipe import TrainingRecipe


def changed(x: Tensor, seed: int = 0, **settings: object) -> Tensor:
    recipe = TrainingRecipe(**settings)  # type: ignore[arg-type]
    return augmented(x, recipe, torch.Generator().manual_seed(seed))


def test_nothing_unless_asked() -> None:
    x = nets.images()
    assert changed(x) is x


def test_some_images_are_mirrored() -> None:
    x = nets.images(40)
    kinds = [(torch.equal(a, b), torch.equal(a, b.flip(-1))) for a, b in zip(changed(x, flip=True), x, strict=True)]
    assert set(kinds) == {(True, False), (False, True)}


def test_each_image_is_moved_on_its_own() -> None:
    x = nets.images(60, side=6)
    found = set()
    for image, moved in zip(x, changed(x, crop=1), strict=True):
        shifts = [
            (down, right)
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if torch.equal(moved, shifted(image, down, right))
        ]
        assert len(shifts) == 1
        found.add(shifts[0])
    assert len(found) == 9


def shifted(image: Tensor, down: int, right: int) -> Tensor:
    """Pixel by pixel."""
    result = torch.zeros_like(image)
    for row in range(6):
        for column in range(6):
            if 0 <= row - down < 6 and 0 <= column - right < 6:
                result[:, row, column] = image[:, row - down, column - right]
    return result


@pytest.mark.parametrize("side", [2, 3])
def test_a_square_of_each_image_is_blanked_out(side: int) -> None:
    x = nets.images(200, side=6)
    found = set()
    for image, cut in zip(x, changed(x, cutout=side), strict=True):
        middles = [
            (row, column)
            for row in range(6)
            for column in range(6)
            if torch.equal(cut, blanked(image, row, column, side))
        ]
        assert len(middles) == 1
        found.add(middles[0])
    assert len(found) == 36


def blanked(image: Tensor, row: int, column: int, side: int) -> Tensor:
    """Pixel by pixel."""
    result = image.clone()
    for down in range(side):
        for right in range(side):
            place = row - side // 2 + down, column - side // 2 + right
            if min(place) >= 0 and max(place) < 6:
                result[:, place[0], place[1]] = 0
    return result


def test_the_generator_decides() -> None:
    x = nets.images(20)
    first, again, other = (changed(x, seed, flip=True, crop=2, cutout=2) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
