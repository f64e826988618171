"""Flips, shifts and cuts do to each image what they say, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import beta
from tests import nets
from torch import Tensor

from firstlight.training.augmentation import augmented, mixed_up
from firstlight.training.loop import class_loss
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


def test_a_rectangle_of_some_images_is_erased() -> None:
    x = nets.images(400, side=12).abs() + 1  # no pixel is 0 before
    shares, ratios = [], []
    for image, erased in zip(x, changed(x, erasing=0.6), strict=True):
        blank = (erased == 0).all(0)
        assert torch.equal(torch.where(blank, image, erased), image)
        if blank.any():
            rows, columns = blank.any(1).nonzero().flatten(), blank.any(0).nonzero().flatten()
            height, width = (int(places[-1] - places[0] + 1) for places in (rows, columns))
            assert height * width == int(blank.sum())  # without holes
            shares.append(height * width / 144)
            ratios.append(height / width)
    assert len(shares) / 400 == pytest.approx(0.6, abs=0.1)
    assert min(shares) < 0.05
    assert 0.25 < max(shares) < 0.45
    assert min(ratios) < 0.5
    assert max(ratios) > 2


def test_images_and_labels_are_mixed_by_the_same_share() -> None:
    x, y = nets.images(8), torch.arange(8)
    mixed, targets = mixed_up(x, y, 8, 0.2, np.random.default_rng(3))
    assert targets.sum(1).numpy() == pytest.approx(np.ones(8))
    assert mixed.numpy() == pytest.approx(torch.einsum("nk,kchw->nchw", targets.to(x), x).numpy(), rel=1e-6)
    shares = {round(float(value), 6) for value in targets.flatten() if 0 < value < 1}
    assert len(shares) <= 2
    again = mixed_up(x, y, 8, 0.2, np.random.default_rng(3))[1]
    assert torch.equal(again, targets)


def test_the_share_is_drawn_from_a_beta_distribution() -> None:
    x, y, generator = torch.zeros(2, 1, 1, 1), torch.tensor([0, 1]), np.random.default_rng(0)
    drawn = np.array([float(mixed_up(x, y, 2, 0.2, generator)[1][0, 0]) for _ in range(2000)])
    shares = drawn[drawn < 1]  # in half the batches, each of the two samples meets itself
    assert np.mean(np.abs(shares - 0.5) > 0.4) == pytest.approx(2 * beta.cdf(0.1, 0.2, 0.2), abs=0.06)


def test_a_network_learns_from_mixed_labels() -> None:
    logits, targets = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([[0.7, 0.0, 0.3]])
    expected = -(0.7 * logits.log_softmax(1)[0, 0] + 0.3 * logits.log_softmax(1)[0, 2])
    assert float(class_loss(logits, targets)) == pytest.approx(float(expected))
    assert float(class_loss(logits, torch.tensor([0]))) == pytest.approx(
        float(F.cross_entropy(logits, torch.tensor([0])))
    )
