"""Recipes by name, and how their settings are changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RECIPES, TRAINING, RecipeRequest


def test_published_figures() -> None:
    darts, hnas, nb201 = (RECIPES[name] for name in ("darts-cifar", "hnas", "nb201-200"))
    assert (darts.epochs, darts.batch_size, darts.learning_rate, darts.weight_decay) == (600, 96, 0.025, 3e-4)
    assert (darts.cutout, darts.auxiliary_weight, darts.drop_path, darts.clip_norm) == (16, 0.4, 0.2, 5)
    assert (hnas.epochs, hnas.batch_size, hnas.learning_rate, hnas.min_learning_rate) == (10, 576, 0.1, 5e-3)
    assert (hnas.drop_path, hnas.validation, hnas.flip, hnas.crop, hnas.cutout) == (0.2, 0.5, False, 0, 0)
    assert (nb201.epochs, nb201.batch_size, nb201.learning_rate, nb201.weight_decay) == (200, 256, 0.1, 5e-4)
    assert (nb201.nesterov, nb201.flip, nb201.crop) == (True, True, 4)
    assert [RECIPES[name].nesterov for name in ("darts-cifar", "hnas", "darts-imagenet")] == [False] * 3


def test_published_figures_of_sigeo_and_hnas() -> None:
    sigeo, cifar, imagenet = (RECIPES[name] for name in ("sigeo-cifar", "hnas-cifar100", "hnas-imagenet"))
    assert (sigeo.epochs, sigeo.batch_size, sigeo.learning_rate, sigeo.weight_decay) == (1440, 256, 0.1, 5e-4)
    assert (sigeo.momentum, sigeo.schedule) == (0.9, "cosine")
    assert min(sigeo.label_smoothing, sigeo.mix_up, sigeo.erasing) > 0
    assert (cifar.learning_rate, cifar.min_learning_rate, cifar.drop_path, cifar.auxiliary_weight) == (
        0.035,
        1e-3,
        0.3,
        0.6,
    )
    assert (imagenet.learning_rate, imagenet.warm_up_epochs, imagenet.batch_size, imagenet.epochs) == (
        0.7,
        5,
        1024,
        250,
    )


def test_single_settings_can_be_changed() -> None:
    request = RecipeRequest.parse("darts-cifar:epochs=10:flip=false:schedule=linear:drop_path=0.2")
    assert (request.recipe.epochs, request.recipe.flip, request.recipe.schedule) == (10, False, "linear")
    assert request.recipe.cutout == 16
    assert request.written == {"epochs", "flip", "schedule", "drop_path"}
    assert str(request) == "darts-cifar:epochs=10:flip=False:schedule=linear"
    assert RecipeRequest.parse(str(request)).recipe == request.recipe
    assert str(request.with_epochs(3)) == "darts-cifar:epochs=3:flip=False:schedule=linear"


def test_what_was_put_together_in_python_is_meant() -> None:
    request = RecipeRequest.of(TrainingRecipe(drop_path=0.1))
    assert request.written == {"drop_path"}
    assert str(request) == str(request.recipe)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("darts-cifer", UnknownNameError, "Did you mean 'darts-cifar'"),
        (
            "quick:epoch=3",
            SettingError,
            "'epoch=3' is not a setting of the recipe 'quick'.*settings: epochs, batch_size",
        ),
        ("quick:epochs=many", SettingError, "quick:epochs is 'many'"),
        ("quick:schedule=step", SettingError, "allowed: cosine, linear, constant, warm-cosine"),
        ("quick:layer_norm=0", SettingError, "'layer_norm=0' is not a setting of the recipe 'quick'"),
        ("quick:epochs=0", SettingError, "epochs is 0; it must be a whole number, 1 or more"),
    ],
)
def test_what_is_no_recipe(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RecipeRequest.parse(text)


def test_the_page_tells_every_setting_of_every_recipe() -> None:
    text = (Path(__file__).parents[2] / "docs" / "train.md").read_text(encoding="utf-8")
    table = text.partition("## Recipes")[2].partition("## The folder")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    names = [name.strip("`") for name in rows[0][2:]]
    assert names == list(RECIPES)
    told = {row[0].strip("`"): row[2:] for row in rows[2:]}
    assert told.keys() == set(TRAINING.settings)
    for setting, values in told.items():
        for name, value in zip(names, values, strict=True):
            expected = getattr(RECIPES[name], setting)
            assert value == (f"{expected:g}" if isinstance(expected, float) else str(expected)), (name, setting)
