"""Searches by the truth: looked up in a table, or found out by training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluate.toy_truth import BEST, a_table

import firstlight
from firstlight.algorithms.onlooker import Onlooker
from firstlight.algorithms.result import SearchSetting
from firstlight.algorithms.runner import run_search
from firstlight.errors import SettingError, StoreError
from firstlight.evaluate.asking import truth_request
from firstlight.evaluate.truth import TRUTH
from firstlight.report.page import write_report
from firstlight.run.executor import make_executor
from firstlight.run.scoring import Setting

SMALL = {"channels": 4, "input_shape": (3, 8, 8)}


def test_a_table_is_searched_by_its_column() -> None:
    result = firstlight.search(
        "transnas-micro", algorithm="evolution", table=a_table(), target="toy_val_40", queries=400, workers=0
    )
    assert result.best.architecture == BEST
    assert result.score.value == 50 + 2 * 18
    assert "The table says of the chosen network: toy_test_40 85.00." in result.notes
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
    assert "<html" in write_report(tmp_path).read_text()


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
    assert "hnas" in page


def test_what_happens_is_told() -> None:
    told: list[str] = []

    class Looking(Onlooker):
        def measured(self, done: int, total: int) -> None:
            told.append(f"{done} of {total}")

        def asks(self, note: str, architecture: str) -> None:
            told.append(note)

    setting = Setting("transnas-micro", skeleton_settings=tuple(SMALL.items()))
    truth = truth_request(setting, table=a_table())
    wanted = SearchSetting(setting, TRUTH, "hnas:metric=params:pool=4:probes=3", 3, truth=truth)
    run_search(wanted, make_executor(0), onlooker=Looking())
    assert told[:4] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]  # M, and then kappa
    assert told[8:] == ["u 0.00, mu 10^-2.0", "u 0.50, mu 10^-2.0", "u 1.00, mu 10^-2.0"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"algorithm": "hnas"}, r"hnas asks what trained networks reach.*--data digits.*--table FILE"),
        ({"queries": 3}, "queries is 3, but nothing is asked"),
        ({"table": "t.csv", "data": "digits"}, "Leave one out"),
        ({"target": "toy_val_4"}, "target is toy_val_4, which means nothing without a table"),
        ({"epochs": 2}, "epochs is 2, which means nothing without data to train on"),
        ({"data": "digits", "proxy": "dextr"}, "not by dextr"),
    ],
)
def test_what_contradicts_itself(asked: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        firstlight.search("nasbench201", workers=0, **asked)  # type: ignore[arg-type]
