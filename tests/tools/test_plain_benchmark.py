"""The benchmark of the plain spaces: which networks are trained, and what the table says of them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

import pytest
from tools.plain_benchmark import BANDS, NAMES, TOLERANCE, networks_of, plans, settings_of, table_of, train

from firstlight.storage.store import Store

RECIPE = "short:epochs=1"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("band", BANDS)
def test_networks_are_different_and_within_their_band(name: str, band: str) -> None:
    (setting,) = settings_of([name], data="digits@16", recipe=RECIPE).values()
    space = setting.space
    textbook, *others = islice(networks_of(setting, band), 8)
    again = list(islice(networks_of(setting, band), 8))
    assert again == [textbook, *others]
    assert [(stage.depth, stage.stride) for stage in textbook.stages] == [
        (stage.depth, stage.stride) for stage in space.canonical(textbook).stages
    ]
    assert len({textbook, *others}) == 8
    for network in others:
        assert abs(math.log(space.cost(network, setting.skeleton).params / BANDS[band])) < math.log(1 + TOLERANCE)
        assert space.canonical(network) == network


def test_the_plan_is_balanced_and_repeats_textbook_networks() -> None:
    settings = settings_of(NAMES[:2], data="digits@16", recipe=RECIPE)
    made = list(plans(settings, ["20k", "100k"], 8))
    assert len(made) == 8 * 4 + 2 * 4
    assert [(plan.space, plan.band) for plan in made[:4]] == [(name, b) for name in NAMES[:2] for b in ("20k", "100k")]
    repeated = [plan for plan in made if plan.seed > 0]
    assert {plan.architecture for plan in repeated} == {plan.architecture for plan in made[:4]}
    assert made.index(repeated[0]) == 24  # after six rounds
    assert made[: 4 * 6] == list(plans(settings, ["20k", "100k"], 6))[:24]


def test_trainings_are_resumed_and_the_table_holds_their_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(["plain-convnext"], data="digits@8", recipe=RECIPE)
    settings = {name: replace(setting, samples=120) for name, setting in settings.items()}
    with Store(str(tmp_path / "store.sqlite")) as store:
        assert table_of(store, settings, ["20k"], 2).empty
        train(store, settings, ["20k"], 2)
        assert capsys.readouterr().out.count("known") == 0
        train(store, settings, ["20k"], 2)
        assert capsys.readouterr().out.count("known") == 4  # two networks, one of them with three seeds
        frame = table_of(store, settings, ["20k"], 2)
        (setting,) = settings.values()
        textbook = frame["architecture"][0]
        results = [store.find_evaluation(replace(setting, seed=seed).key(textbook)) for seed in range(3)]
    accuracies = [100 * result.accuracy for result in results if result is not None and result.accuracy is not None]
    assert frame["digits_val_1"][0] == pytest.approx(fmean(accuracies))
    assert list(frame["seeds"]) == [3, 1]
    assert math.isnan(frame["digits_val_std_1"][1])
    assert list(frame["params"]) == [
        setting.space.cost(setting.space.parse(text), setting.skeleton).params for text in frame["architecture"]
    ]
    assert frame.attrs["recipe"] == str(setting.recipe)
    assert "90 images to train on, 30 to validate on" in frame.attrs["data"]
