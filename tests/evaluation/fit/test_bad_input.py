"""Data that need care: each is a clear error before any training, or a decision that is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torch import nn

import firstlight
from firstlight.core.errors import DataError, ModelError, TooFewError
from firstlight.evaluation.fit.look import look_at
from firstlight.training.job import EvaluationSetting

SHORT: dict[str, Any] = {"time": "1s", "max_params": "2k", "workers": 0}
MODES = ("L", "RGB", "RGBA", "P", "CMYK", "1", "LA")


def photograph(path: Path, seed: int, level: int, mode: str = "RGB") -> None:
    pixels = np.random.default_rng(seed).integers(0, 64, (8, 8, 3)) + level
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels.astype(np.uint8)).convert(mode)
    image.save(path.with_suffix(".tiff" if mode == "CMYK" else ".png"))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twelve dark and twelve bright images to train on, in modes of all kinds, and four to test."""
    for part, count in (("train", 12), ("test", 4)):
        for name, level in (("dark", 0), ("bright", 180)):
            for number in range(count):
                mode = MODES[number % len(MODES)] if part == "train" else "RGB"
                photograph(tmp_path / part / name / f"{number}.png", number, level, mode)
    return tmp_path


def refused(source: str, error: type[Exception], match: str, **options: Any) -> None:
    with pytest.raises(error, match=match):
        firstlight.fit(source, **SHORT, **options)


def test_few_images_of_mixed_modes_with_damaged_ones(photos: Path) -> None:
    source = f"folder:{photos / 'train'}@8"
    for name in ("dark/a.png", "bright/b.png"):
        (photos / "train" / name).write_bytes(b"no image")
    refused(source, DataError, r"(?s)2 of \d+ images cannot be read.*bright/b\.png.*dark/a\.png")
    found = firstlight.fit(source, skip_damaged=True, **SHORT)
    assert found.decisions[0] == "Data: 24 samples of 3x8x8 in 2 classes, and 8 for the test at the end."
    assert found.verdict.samples == 8


def test_a_class_with_one_image(photos: Path) -> None:
    photograph(photos / "train" / "odd" / "0.png", 0, 90)
    refused(f"folder:{photos / 'train'}@8", DataError, "some classes are in only one of them: odd")
    photograph(photos / "test" / "odd" / "0.png", 1, 90)
    refused(f"folder:{photos / 'train'}@8", TooFewError, "The class 'odd' has fewer than two samples")


def one_label(images: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"x": images, "y": np.zeros(40, dtype=int)}


def new_label_in_the_test(images: np.ndarray[Any, Any]) -> dict[str, Any]:
    labels = np.arange(40) % 2
    return {"x_train": images, "y_train": labels, "x_test": images[:4], "y_test": np.array([0, 1, 2, 0])}


def missing_values(images: np.ndarray[Any, Any]) -> dict[str, Any]:
    broken = images.astype(np.float32)
    broken[3, 0, 0] = np.nan
    return {"x": broken, "y": np.arange(40) % 2}


def three_images(images: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"x": images[:3], "y": np.array([0, 1, 0])}


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (one_label, DataError, "belong to one class"),
        (new_label_in_the_test, DataError, "Every class needs training samples"),
        (missing_values, DataError, "NaN or infinite"),
        (three_images, TooFewError, "too few|fewer than two|at least two"),
    ],
)
def test_arrays_that_nothing_can_be_learned_from(
    make: Callable[[np.ndarray[Any, Any]], dict[str, Any]], error: type[Exception], match: str, tmp_path: Path
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.uint8)
    np.savez(tmp_path / "data.npz", **make(images))
    refused(f"npz:{tmp_path / 'data.npz'}", error, match)


def test_a_test_part_without_one_of_the_classes(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.uint8)
    labels = np.arange(40) % 2
    np.savez(tmp_path / "data.npz", x_train=images, y_train=labels, x_test=images[::2], y_test=labels[::2])
    setting = EvaluationSetting("plain-mlp", source_name=f"npz:{tmp_path / 'data.npz'}", tests_later=True)
    assert "the test has no sample of 1" in str(look_at(setting.dataset))


def test_weights_that_are_not_numbers() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 10))
    nn.init.constant_(model[1].weight, float("nan"))
    refused(
        "digits@8",
        ModelError,
        r"Before any training, .* has weights that are NaN or infinite: 1\.weight",
        baseline=model,
    )
