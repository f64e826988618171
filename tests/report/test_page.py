"""The report page: complete, self-contained, and safe with hostile text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import firstlight
from firstlight.cost import Cost
from firstlight.errors import StoreError
from firstlight.report.page import render, write_report
from firstlight.run.records import Run, Trial
from firstlight.run.store import STORE_NAME, Store

SKIP = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|"
CONV = "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|skip_connect~1|none~2|"


def run(**settings: object) -> Run:
    defaults = {"space": "nasbench201", "proxy": "dextr", "algorithm": "random", "max_params": None}
    return Run(1, defaults | settings, "0.1.0", "2030-01-01 00:00:00", None, None)


def test_a_search_ends_in_a_page(tmp_path: Path) -> None:
    result = firstlight.search(
        "nasbench201", skeleton={"cells": 1, "channels": 4}, samples=8, workers=0, out=tmp_path, max_params="20k"
    )
    page = write_report(tmp_path).read_text()
    assert result.best.architecture in page
    assert page.count("<svg") == 3
    assert page.count('<circle class="dot') == 16
    for text in ("20000", "independence", "The best networks", "8 networks", "not finished"):
        assert (text in page) == (text != "not finished"), text
    outside = re.findall(r"(?:src|href)=|https?://|@import|url\((?!#)", page)
    assert outside == []


def test_a_search_by_an_ensemble_ends_in_a_page(tmp_path: Path) -> None:
    by = "rank_mean(params,macs)"
    settings = {"skeleton": {"cells": 1, "channels": 4}, "workers": 0, "out": tmp_path}
    result = firstlight.search("nasbench201", proxy=by, samples=8, **settings)
    page = write_report(tmp_path).read_text()
    assert f"{by} {result.score.value:.4f} with" in page
    assert page.count('<circle class="dot') == 16
    assert f"params {result.score.parts['params']:.4f}, macs" in page
    assert "no score" not in page


def test_the_best_network_comes_first_and_is_drawn() -> None:
    page = render(run(), [Trial(SKIP, Cost(5, 6), 0.25, 1.0), Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert page.index(CONV) < page.index(SKIP)
    assert 'aria-label="input to output: nor_conv_3x3; 1 to output: skip_connect"' in page
    assert "not finished" in page


def test_networks_without_a_score_are_counted_not_shown() -> None:
    page = render(run(), [Trial(SKIP, Cost(5, 6), None, 1.0), Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert "1 of the networks have no score" in page
    assert SKIP not in page


def test_a_run_without_any_score_has_a_page() -> None:
    assert "No network has a score yet" in render(run(), [])


def test_text_is_never_markup() -> None:
    page = render(run(proxy="<script>alert(1)</script>"), [Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert "<script" not in page


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run"):
        write_report(tmp_path)
    Store(tmp_path / STORE_NAME).close()
    with pytest.raises(StoreError, match="no run yet"):
        write_report(tmp_path)


def test_a_front_is_shown_with_every_cost(tmp_path: Path) -> None:
    result = firstlight.search(
        "nasbench201",
        proxy="macs",
        skeleton={"cells": 1, "channels": 4},
        samples=30,
        workers=0,
        out=tmp_path,
        objectives="params,memory",
    )
    page = write_report(tmp_path).read_text()
    assert f"The front: {len(result.front)} networks" in page
    assert page.count('<circle class="dot chosen"') == 2 * len(result.front) + 1  # against each cost, and over time
    assert "Score against bytes of memory" in page
    assert all(trial.architecture in page for trial in result.front)
    assert "hypervolume" in page


def test_a_page_of_very_many_networks_shows_some_of_them() -> None:
    trials = [Trial(f"n{number}", Cost(number + 1, 6), number % 97 / 97, float(number)) for number in range(20_000)]
    trials[7] = Trial(CONV, Cost(7, 8), 5.0, 7.0)
    page = render(run(), trials)
    dots = page.count('<circle class="dot')
    assert 2 * 2000 < dots < 2 * 3200
    assert f"{dots // 2:,} of the 20,000 networks" in page
    assert page.count(CONV) > 2


def test_a_search_through_a_one_shot_network_shows_what_its_steps_speak_for(tmp_path: Path) -> None:
    result = firstlight.search(
        "nasbench201",
        algorithm="nasi:steps=3:batch=2",
        skeleton={"cells": 1, "channels": 2, "input_shape": (3, 8, 8)},
        workers=0,
        out=tmp_path,
    )
    page = write_report(tmp_path).read_text()
    assert "nasi chose this untrained network after 3 steps" in page
    assert result.best.architecture in page
    assert page.count('class="cell') == 6 * 4
    assert page.count('<rect class="frame"') == 6
    assert page.count("over the steps, 4 lines") == 6
    assert "3 steps and 1 network in" in page
    assert "Score over time" not in page  # there is but one network


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / STORE_NAME) as store:
        store.begin_run({"space": "nasbench201", "proxy": "dextr", "algorithm": "random"}, "1.0", 0)
    for damaged in ("{", "[]", "[" * 5000):
        (tmp_path / "result.json").write_text(damaged)
        with pytest.raises(StoreError, match=r"result.json is damaged"):
            write_report(tmp_path)
