"""Networks that are trained from scratch: their accuracy is that of a plain training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firstlight.data import InputSource, load_dataset
from firstlight.papers.darts_networks import published
from firstlight.papers.from_scratch import AfterTraining
from firstlight.scoring.service import Setting
from firstlight.spaces.darts.space import DARTS
from firstlight.training.classifier import evaluate_classifier, train_classifier
from firstlight.training.recipes import RecipeRequest

SKELETON = {"cells": 3, "channels": 2, "input_shape": (3, 8, 8)}


@pytest.fixture
def images(tmp_path: Path) -> str:
    """A few images of noise."""
    rng, arrays = np.random.default_rng(0), {}
    for part, count in (("train", 80), ("test", 40)):
        arrays[f"x_{part}"] = rng.integers(0, 256, (count, 3, 16, 16), dtype=np.uint8)
        arrays[f"y_{part}"] = np.arange(count, dtype=np.uint8) % 10
    np.savez(tmp_path / "noise.npz", **arrays)
    return f"npz:{tmp_path}/noise.npz"


def test_accuracy_is_that_of_a_plain_training(images: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DARTS, "channels_last", False)  # which only changes the rounding
    recipe = RecipeRequest.parse("quick:epochs=1:batch_size=32").recipe
    setting = Setting("darts", InputSource(images, side=8), 3, tuple(sorted(SKELETON.items())))
    text = str(published()["DARTS, second order"])
    found = AfterTraining(recipe)(setting, text)
    data = load_dataset(f"{images}@8", seed=3, test=True)
    network = setting.space.build(text, setting.skeleton, seed=3)
    result = train_classifier(network, data, recipe, seed=3)
    assert data.x_test is not None
    assert data.y_test is not None
    _, accuracy = evaluate_classifier(network, data.x_test, data.y_test, 32)
    assert found.value == 100 * accuracy
    assert found.parts["training"] == 100 * result.epochs[-1].train_accuracy
