"""Training: something is learned, the seed decides what, and nobody else's random numbers change."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event
from firstlight.data import Dataset, load_dataset
from firstlight.execution.executor import one_thread
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.classifier import train_classifier
from firstlight.training.recipe import TrainingRecipe


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
    return train_classifier(small(dropout=dropout), made_up(), recipe, seed=seed)


def epochs_into(seen: list[Epoch]) -> Callback:
    return lambda event: None if event.item is None else seen.append(event.item)


def test_digits_are_learned() -> None:
    model, seen = small(classes=10), list[Epoch]()
    recipe = TrainingRecipe(epochs=3, batch_size=64)
    result = train_classifier(model, digits(), recipe, callback=epochs_into(seen))
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


@pytest.mark.parametrize("settings", [{}, {"dropout": 0.5}, {"flip": True, "crop": 1, "cutout": 2}])
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
        {"cutout": 2},
        {"warm_up_epochs": 1},
        {"min_learning_rate": 0.05},
        {"schedule": "linear"},
        {"schedule": "constant"},
        {"schedule": "warm-cosine"},
        {"optimizer": "adagrad", "momentum": 0, "nesterov": False},
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
    result = train_classifier(model, made_up(), TrainingRecipe(epochs=50, batch_size=6, learning_rate=1e20))
    assert result.status == "diverged"
    assert not result.ok
    assert result.accuracy is None
    assert len(result.epochs) < 50
    assert "at step" in result.note


def test_a_validation_loss_that_is_no_number_ends_the_training() -> None:
    class BrokenWhenJudged(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1 if self.training else torch.nan)

    result = train_classifier(nn.Sequential(nn.Flatten(), BrokenWhenJudged(48, 3)), made_up(), TrainingRecipe())
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
    train_classifier(model, data, TrainingRecipe(epochs=2, batch_size=4, learning_rate=1e-3))
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


class Headed(nn.Module):
    """Two classifiers, of which the second is for training only, and a chance that is noted in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.drop_path = 0.0
        self.head, self.auxiliary = nn.Linear(48, 3), nn.Linear(48, 3)
        self.chances: list[float] = []

    def forward(self, x: Tensor) -> Any:
        x = x.flatten(1)
        if not self.training:
            return self.head(x)
        self.chances.append(self.drop_path)
        return self.head(x), self.auxiliary(x)


def test_the_chance_of_dropping_is_set_for_each_epoch_and_taken_back() -> None:
    model = Headed()
    train_classifier(model, made_up(), TrainingRecipe(epochs=4, batch_size=12, drop_path=0.2))
    assert model.chances == pytest.approx([0, 0, 0.05, 0.05, 0.1, 0.1, 0.15, 0.15])
    assert model.drop_path == 0


def test_the_auxiliary_loss_is_weighed_by_hand() -> None:
    data, weight, rate = made_up(samples=6), 0.4, 0.1
    recipe = TrainingRecipe(
        epochs=1, batch_size=6, momentum=0, nesterov=False, weight_decay=0, clip_norm=0, auxiliary_weight=weight
    )
    model = Headed()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    main, auxiliary = (F.cross_entropy(logits, data.y_train) for logits in model(data.x_train))
    gradients = torch.autograd.grad(main + weight * auxiliary, [*model.parameters()])
    result = train_classifier(model, data, recipe)
    for was, now, gradient in zip(before, model.parameters(), gradients, strict=True):
        torch.testing.assert_close(now, was - rate * gradient)
    assert result.epochs[0].train_loss == pytest.approx(main.item())  # what validation can be compared with


def test_a_head_that_weighs_nothing_learns_nothing() -> None:
    model = Headed()
    before = model.auxiliary.weight.detach().clone()
    assert train_classifier(model, made_up(), TrainingRecipe(epochs=1, batch_size=12)).ok
    assert torch.equal(model.auxiliary.weight, before)


@pytest.mark.parametrize(("setting", "lacking"), [("drop_path", "edges"), ("auxiliary_weight", "auxiliary head")])
def test_networks_that_cannot_do_what_the_recipe_asks(setting: str, lacking: str) -> None:
    with pytest.raises(SettingError, match=f"{setting} is 0.2, but the network has no {lacking}"):
        quick(**{setting: 0.2})


class CutOffError(Exception):
    pass


@pytest.mark.parametrize("after", [1, 2])
def test_a_training_that_was_cut_off_ends_with_the_same_weights(after: int, tmp_path: Path) -> None:
    recipe = TrainingRecipe(epochs=4, batch_size=6, flip=True, crop=1, cutout=2, warm_up_epochs=1)
    checkpoint = Checkpoint(tmp_path / "a.safetensors", {"recipe": str(recipe)})
    whole = small(dropout=0.5)
    expected = train_classifier(whole, made_up(), recipe, seed=3)
    seen: list[Epoch] = []

    def cut_off(event: Event) -> None:
        epochs_into(seen)(event)
        if len(seen) == after:
            raise CutOffError

    with pytest.raises(CutOffError):
        train_classifier(small(dropout=0.5), made_up(), recipe, seed=3, checkpoint=checkpoint, callback=cut_off)
    resumed = small(dropout=0.5)
    torch.manual_seed(after)  # what is drawn elsewhere makes no difference
    result = train_classifier(resumed, made_up(), recipe, seed=3, checkpoint=checkpoint, callback=epochs_into(seen))
    assert result == expected
    assert tuple(seen) == result.epochs  # none was trained twice
    for name, tensor in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor), name


def test_every_step_and_every_epoch_is_an_event() -> None:
    seen: list[Event] = []
    recipe = TrainingRecipe(epochs=2, batch_size=12)
    result = train_classifier(small(), made_up(), recipe, callback=seen.append)
    assert [(event.done, event.note, event.item) for event in seen] == [
        (1, "epoch 1/2", None),
        (2, "epoch 1/2", None),
        (2, "epoch 1/2", result.epochs[0]),
        (3, "epoch 2/2", None),
        (4, "epoch 2/2", None),
        (4, "epoch 2/2", result.epochs[1]),
    ]
    assert {(event.stage, event.total) for event in seen} == {("training", 4)}


def test_adagrad_resumes_with_the_same_weights(tmp_path: Path) -> None:
    recipe = TrainingRecipe(epochs=3, batch_size=6, optimizer="adagrad", momentum=0, nesterov=False)
    checkpoint = Checkpoint(tmp_path / "a.safetensors", {"recipe": str(recipe)})
    whole, resumed = small(), small()
    expected = train_classifier(whole, made_up(), recipe)

    def cut_off(event: Event) -> None:
        if event.item is not None:
            raise CutOffError

    with pytest.raises(CutOffError):
        train_classifier(small(), made_up(), recipe, checkpoint=checkpoint, callback=cut_off)
    assert train_classifier(resumed, made_up(), recipe, checkpoint=checkpoint) == expected
    for name, tensor in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor), name


def test_mixed_images_are_learned_from_and_the_same_seed_mixes_alike() -> None:
    recipe = TrainingRecipe(epochs=2, batch_size=32, mix_up=0.2, erasing=0.2, label_smoothing=0.1)
    data = load_dataset("digits@8", seed=0, samples=120)
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, data.classes))
        found.append(train_classifier(model, data, recipe, seed=1))
    losses = [[epoch.train_loss for epoch in result.epochs] for result in found]
    assert losses[0] == losses[1]
    assert losses[0][1] < losses[0][0]
    assert found[0].ok
