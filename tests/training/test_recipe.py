"""Recipes: what they allow, what they are known by, and what follows from them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.core.errors import SettingError
from firstlight.probe.steps import warm_cosine
from firstlight.training.recipe import TrainingRecipe


def test_the_rate_falls_along_half_a_cosine_to_zero() -> None:
    recipe = TrainingRecipe(learning_rate=0.4)
    rates = [recipe.learning_rate_at(step, 100) for step in range(101)]
    assert rates[0] == 0.4
    assert rates[25] == pytest.approx(0.2 * (1 + math.sqrt(0.5)))
    assert rates[50] == pytest.approx(0.2)
    assert rates[100] == 0
    assert rates == sorted(rates, reverse=True)


def test_the_schedule_by_hand() -> None:
    recipe = TrainingRecipe(epochs=4, learning_rate=0.5, min_learning_rate=0.1, warm_up_epochs=2, schedule="linear")
    rates = [recipe.learning_rate_at(step, 8) for step in range(9)]  # two steps in each epoch
    assert rates == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1])
    cosine = dataclasses.replace(recipe, schedule="cosine")
    assert [cosine.learning_rate_at(step, 8) for step in range(5)] == pytest.approx(rates[:5])
    assert cosine.learning_rate_at(5, 8) == pytest.approx(0.1 + 0.4 * (1 + math.sqrt(0.5)) / 2)
    assert cosine.learning_rate_at(6, 8) == pytest.approx(0.3)
    assert cosine.learning_rate_at(8, 8) == pytest.approx(0.1)


def test_a_constant_rate_and_one_that_rises_first() -> None:
    constant = TrainingRecipe(epochs=4, learning_rate=0.3, min_learning_rate=1e-8, schedule="constant")
    assert {constant.learning_rate_at(step, 8) for step in range(8)} == {0.3}
    growing = dataclasses.replace(constant, warm_up_epochs=2)
    assert [growing.learning_rate_at(step, 8) for step in range(6)] == pytest.approx(
        [0.075, 0.15, 0.225, 0.3, 0.3, 0.3]
    )
    warm = dataclasses.replace(constant, schedule="warm-cosine")
    expected = warm_cosine(0.3, 40, 4, 1e-8)
    assert [warm.learning_rate_at(step, 40) for step in range(40)] == [expected(step) for step in range(40)]


def test_the_chance_of_dropping_grows_with_the_epochs() -> None:
    recipe = TrainingRecipe(epochs=4, drop_path=0.2)
    assert [recipe.drop_path_at(epoch) for epoch in range(4)] == pytest.approx([0, 0.05, 0.1, 0.15])


@settings(deadline=None)
@given(st.integers(2, 3000), st.integers(2, 300))
def test_no_batch_has_a_single_sample(samples: int, batch_size: int) -> None:
    batches = TrainingRecipe(batch_size=batch_size).num_batches(samples)
    smallest, larger = divmod(samples, batches)
    assert smallest >= 2
    assert smallest + bool(larger) <= max(batch_size, 3)


def test_every_setting_is_in_the_text() -> None:
    recipe = TrainingRecipe()
    changed = {field.name: _other(getattr(recipe, field.name)) for field in dataclasses.fields(recipe)}
    changed |= {"optimizer": "adagrad", "layer_norm": 0}
    needed = {"optimizer": {"momentum": 0, "nesterov": False}}
    texts = [str(dataclasses.replace(recipe, **needed.get(name, {}), **{name: changed[name]})) for name in changed]
    assert len({str(recipe), *texts}) == len(changed) + 1
    assert str(recipe).startswith("batch_size=128,clip_norm=5.0,crop=0,epochs=3,")
    assert str(TrainingRecipe(clip_norm=5)) == str(recipe)
    assert str(TrainingRecipe(weight_decay=0.00012345678)) != str(TrainingRecipe(weight_decay=0.00012345679))


OLD = "batch_size=128,clip_norm=5.0,crop=0,epochs=3,flip=False,label_smoothing=0.0,learning_rate=0.1,momentum=0.9"


def test_what_was_stored_before_there_were_more_settings_is_still_known() -> None:
    assert str(TrainingRecipe()) == f"{OLD},nesterov=True,weight_decay=0.0005"
    assert str(TrainingRecipe(cutout=16)) == f"{OLD},nesterov=True,weight_decay=0.0005".replace(
        "epochs", "cutout=16,epochs", 1
    )


def _other(value: Any) -> Any:
    if isinstance(value, str):
        return "linear"
    return not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value / 2 + 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be a whole number, 1 or more"),
        ({"batch_size": 1}, "batch_size is 1; it must be a whole number, 2 or more"),
        ({"epochs": 2.5}, "whole number"),
        ({"crop": -1}, "0 or more"),
        ({"flip": 1}, "True or False"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"learning_rate": 0}, "nothing would be learned"),
        ({"weight_decay": "much"}, "weight_decay is 'much'"),
        ({"momentum": 1.0}, "less than 1"),
        ({"momentum": 0}, "nesterov=False"),
        ({"drop_path": 1.0}, "drop_path is 1.0; it must be less than 1"),
        ({"validation": 0}, "hold out some samples"),
        ({"cutout": 1.5}, "whole number"),
        ({"schedule": "step"}, "schedule is 'step'; allowed: cosine, linear, constant, warm-cosine"),
        ({"warm_up_epochs": 3}, "warm_up_epochs is 3; it must be less than epochs, which is 3"),
        ({"min_learning_rate": 0.2}, "min_learning_rate is 0.2"),
        ({"schedule": "warm-cosine", "warm_up_epochs": 1}, "has its own warm-up"),
        ({"optimizer": "adam"}, "optimizer is 'adam'; allowed: sgd, adagrad, adamw"),
        ({"optimizer": "adagrad"}, "Momentum is for sgd, and the optimizer is adagrad"),
        ({"eps": 0}, "eps is 0"),
        ({"layer_norm": 2}, "layer_norm is 2; it must be 0 or 1"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        TrainingRecipe(**settings)
