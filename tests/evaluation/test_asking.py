"""Searches by the truth: looked up in a table, or found out by training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.evaluation.toy_truth import BEST, a_table

import firstlight
from firstlight.core.errors import SettingError, StoreError
from firstlight.core.events import Event
from firstlight.data import InputSource, load_dataset
from firstlight.evaluation.asking import AskTraining, truth_request
from firstlight.evaluation.truth import TRUTH
from firstlight.execution.executor import make_executor
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.runner import run_search
from firstlight.search.setting import SearchSetting
from firstlight.tables.table import as_table
from firstlight.views.pages.search import write_report

SMALL = {"channels": 4, "input_shape": (3, 8, 8)}


def test_a_table_is_searched_by_its_column() -> None:
    result = firstlight.search(
        "transnas-micro", algorithm="evolution", table=a_table(), target="toy_val_40", queries=400, workers=0
    )
    assert result.best.architecture == BEST
    assert result.score.value == 50 + 2 * 18
    assert "The chosen network in the table: toy_test_40 85.00." in result.notes
    assert result.training_seconds > 400 * 40
    assert len(result.to_frame()) == 400


def test_proxies_choose_what_a_table_is_asked_about(tmp_path: Path) -> None:
    def search(**changes: object) -> firstlight.SearchResult:
        asked = {"algorithm": "verify:by=params:pool=40", "table": a_table(), "queries": 5, "skeleton": SMALL}
        return firstlight.search("transnas-micro", workers=0, out=tmp_path, **(asked | changes))  # type: ignore[arg-type]

    result = search()
    assert result.judged == 40
    assert result.scored + result.reused == 5
    assert json.loads((tmp_path / "result.json").read_text())["judged"] == 40
    assert search().best == result.best
    with pytest.raises(StoreError, match="target was 'toy_val_4', now 'toy_val_40'"):
        search(target="toy_val_40")
    assert "Best of 5 networks" in write_report(tmp_path).read_text()


def test_networks_are_trained_and_not_twice(tmp_path: Path) -> None:
    def search() -> firstlight.SearchResult:
        return firstlight.search(
            "nasbench201",
            algorithm="hnas:metric=params:pool=6:batch=8",
            data="digits@8",
            data_samples=60,
            epochs=1,
            queries=3,
            skeleton={"channels": 2, "cells": 1},
            workers=0,
            out=tmp_path,
        )

    result = search()
    assert (result.scored, result.reused) == (3, 0)
    assert result.setting.setting.source.name == "digits@8"  # proxies are shown the data
    assert 0 <= result.score.value <= 100
    assert len(result.findings["hnas"]["answers"]) == 3
    again = search()
    assert (again.scored, again.reused, again.best.architecture) == (0, 3, result.best.architecture)
    assert again.training_seconds == pytest.approx(result.training_seconds)
    page = write_report(tmp_path).read_text()
    assert "Accuracy over 3 queries" in page
    assert "Expected accuracy" in page


def test_what_happens_is_told() -> None:
    told: list[str] = []

    def look(event: Event) -> None:
        if event.stage == "measuring":
            told.append(f"{event.done} of {event.total}")
        elif event.note:
            told.append(event.note)

    setting = Setting("transnas-micro", skeleton_settings=tuple(SMALL.items()))
    truth = truth_request(setting, table=a_table())
    wanted = SearchSetting(setting, TRUTH, AlgorithmRequest.parse("hnas:metric=params:pool=4:probes=3"), 3, truth=truth)
    run_search(wanted, make_executor(0), callback=look)
    assert told[:4] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]  # M, and then kappa
    assert told[8:] == ["u 0.00, mu 10^-2.0", "u 0.50, mu 10^-2.0", "u 1.00, mu 10^-2.0"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"algorithm": "hnas"}, r"hnas needs the true performance.*--data digits.*--table FILE"),
        ({"queries": 3}, "queries is 3, but there is nothing to query"),
        ({"table": "t.csv", "data": "digits"}, "Leave one out"),
        ({"target": "toy_val_4"}, "target is toy_val_4, which has no effect without a table"),
        ({"epochs": 2}, "epochs is 2, which has no effect without data to train on"),
        ({"data": "digits", "proxy": "dextr"}, "not by dextr"),
        ({"data": "digits", "samples": 4}, "samples is 4, but this search evaluates networks by true performance"),
        (
            {"data": "digits@8", "repeats": 2, "skeleton": {"channels": 2}},
            "repeats is 2, but random evaluates every network once",
        ),
    ],
)
def test_what_contradicts_itself(asked: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        firstlight.search("nasbench201", workers=0, **asked)  # type: ignore[arg-type]


def test_the_target_must_be_an_accuracy() -> None:
    with pytest.raises(SettingError, match="is not an accuracy, but a search maximizes"):
        firstlight.search("transnas-micro", table=a_table(), target="toy_train_seconds_40", workers=0)


def test_limits_are_those_of_the_skeleton_asked_for() -> None:
    result = firstlight.search("transnas-micro", table=a_table(), queries=3, skeleton=SMALL, workers=0)
    space = firstlight.space("transnas-micro")
    assert result.best.cost == space.cost(space.parse(result.best.architecture), space.skeleton(**SMALL))


def test_a_table_without_seconds_leaves_no_nan(tmp_path: Path) -> None:
    table = as_table(a_table().frame.drop(columns=["toy_train_seconds_40", "some_seconds_40"]), "toy")
    result = firstlight.search(
        "transnas-micro", algorithm="verify:by=params:pool=8", table=table, queries=3, workers=0, out=tmp_path
    )
    assert "NaN" not in json.dumps(result.to_dict())
    assert "NaN" not in (tmp_path / "result.json").read_text()


def test_recipes_are_followed_as_far_as_networks_can(tmp_path: Path) -> None:
    request = truth_request(
        Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 2))), data="digits@8", recipe="hnas"
    )
    assert isinstance(request, AskTraining)
    assert request.setting.recipe.drop_path == 0
    assert "drop_path=0.2 of the recipe 'hnas' is not used" in request.notes[0]
    assert request.measure == "validation accuracy after 10 epochs"


def test_what_is_tested_on_later_plays_no_part_in_the_search() -> None:
    skeleton = (("cells", 1), ("channels", 2))
    request = truth_request(Setting("nasbench201", skeleton_settings=skeleton), data="digits@8")
    assert isinstance(request, AskTraining)
    searched = request.setting.dataset
    held_out = load_dataset("digits@8", test=True)
    assert held_out.x_test is not None
    tested = {tuple(image.round(decimals=3).flatten().tolist()) for image in held_out.x_test[:50]}
    seen = {
        tuple(image.round(decimals=3).flatten().tolist()) for image in torch.cat([searched.x_train, searched.x_val])
    }
    assert not tested & seen


def test_the_skeleton_is_that_of_the_networks_that_are_trained() -> None:
    setting = Setting("nasbench201", InputSource("synthetic"), skeleton_settings=(("cells", 1), ("channels", 2)))
    wanted = SearchSetting(
        setting, TRUTH, AlgorithmRequest.parse("random"), 1, truth=truth_request(setting, data="digits@8")
    )
    assert wanted.skeleton.input_shape == (3, 8, 8)
    assert "input_shape=3x8x8" in wanted.to_dict()["skeleton"]
