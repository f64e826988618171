"""Training: something is learned, the seed decides what, and nobody else's random numbers change."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.data import Dataset, load_dataset
from firstlight.evaluate.recipe import TrainingRecipe
from firstlight.evaluate.training import train
from firstlight.run.executor import one_thread
from firstlight.run.outcome import Epoch, TrainingResult


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Several threads for tiny tensors mostly wait for one another."""
    with one_thread():
        yield


@functools.cache
def digits() -> Dataset:
    return load_dataset("digits@8")


def made_up(samples: int = 24, classes: int = 3) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(samples, 3, 4, 4, generator=generator), torch.arange(samples) % classes
    return Dataset(x, y, x[:9] + 0.1, y[:9], classes, "made up")


def small(classes: int = 3, dropout: float = 0.0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(64, classes),
        )


def quick(seed: int = 0, dropout: float = 0.0, **settings: Any) -> TrainingResult:
    recipe = TrainingRecipe(**({"epochs": 2, "batch_size": 6} | settings))
    return train(small(dropout=dropout), made_up(), recipe, seed=seed)


def test_digits_are_learned() -> None:
    model, seen = small(classes=10), list[Epoch]()
    result = train(model, digits(), TrainingRecipe(epochs=3, batch_size=64), watch=seen.append)
    assert (result.status, result.note, len(result.epochs)) == ("ok", "", 3)
    assert result.epochs == tuple(seen)
    assert result.accuracy is not None
    assert result.accuracy > 0.8
    first, last = result.epochs[0], result.epochs[-1]
    assert last.train_loss < first.train_loss
    assert last.train_accuracy > first.train_accuracy
    with torch.no_grad():
        logits = model(digits().x_val)  # the model is left ready to be used
    assert float((logits.argmax(1) == digits().y_val).float().mean()) == pytest.approx(last.val_accuracy)
    assert float(F.cross_entropy(logits, digits().y_val)) == pytest.approx(last.val_loss, rel=1e-4)


@pytest.mark.parametrize("settings", [{}, {"dropout": 0.5}, {"flip": True, "crop": 1}])
def test_the_seed_decides_everything(settings: dict[str, Any]) -> None:
    torch.manual_seed(1)
    first = quick(**settings)
    torch.manual_seed(2)
    assert quick(**settings) == first
    assert quick(seed=1, **settings) != first


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 0.05},
        {"momentum": 0.5},
        {"nesterov": False},
        {"weight_decay": 0.1},
        {"label_smoothing": 0.2},
        {"clip_norm": 0.01},
        {"batch_size": 8},
        {"flip": True},
        {"crop": 1},
        {"dropout": 0.5},
    ],
)
def test_every_setting_matters(settings: dict[str, Any]) -> None:
    assert quick(**settings) != quick()


def test_the_users_random_numbers_are_left_alone() -> None:
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    quick(dropout=0.5, flip=True, crop=1)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states[1:]


def test_a_rate_that_is_too_high_ends_the_training() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Linear(8, 3))
    result = train(model, made_up(), TrainingRecipe(epochs=50, batch_size=6, learning_rate=1e20))
    assert result.status == "diverged"
    assert not result.ok
    assert result.accuracy is None
    assert len(result.epochs) < 50
    assert "at step" in result.note


def test_a_validation_loss_that_is_no_number_ends_the_training() -> None:
    class BrokenWhenJudged(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1 if self.training else torch.nan)

    result = train(nn.Sequential(nn.Flatten(), BrokenWhenJudged(48, 3)), made_up(), TrainingRecipe())
    assert (result.status, result.epochs, result.last, result.best) == ("diverged", (), None, None)
    assert result.note == "The validation loss was nan after epoch 1."


class Recorder(nn.Module):
    """Notes which samples it is shown while it learns; their first pixel is their number."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(48, 3)
        self.batches: list[list[int]] = []

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.batches.append(x[:, 0, 0, 0].int().tolist())
        return self.head(x.flatten(1))


def test_every_sample_is_seen_once_in_each_epoch_in_another_order() -> None:
    data = made_up(samples=13)
    data.x_train[:, 0, 0, 0] = torch.arange(13)
    model = Recorder()
    train(model, data, TrainingRecipe(epochs=2, batch_size=4, learning_rate=1e-3))
    assert [len(batch) for batch in model.batches] == [4, 3, 3, 3] * 2
    first, second = ([*itertools.chain(*batches)] for batches in (model.batches[:4], model.batches[4:]))
    assert sorted(first) == sorted(second) == list(range(13))
    assert first != second


def test_the_rates_used_are_those_of_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    step = torch.optim.SGD.step

    def noting(self: torch.optim.SGD, *args: Any) -> Any:
        used.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.SGD, "step", noting)
    quick(learning_rate=0.3)
    recipe = TrainingRecipe(learning_rate=0.3)
    assert used == [recipe.learning_rate_at(number, 8) for number in range(8)]
