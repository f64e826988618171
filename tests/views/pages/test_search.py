"""The report page: complete, self-contained, and safe with hostile text."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from tests.views.pages.pages import retrained, search_run, trials

import firstlight
from firstlight.api.search import search
from firstlight.core.errors import StoreError
from firstlight.core.wording import significant
from firstlight.probe.cost import Cost
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.networks import digits_for
from firstlight.views.pages.search import MOST_ROWS, render, write_report
from firstlight.views.pages.search_charts import ALL_DOTS

SKIP = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|"
CONV = "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|skip_connect~1|none~2|"


def run(**settings: object) -> Run:
    defaults = {"space": "nasbench201", "proxy": "dextr", "algorithm": "random", "max_params": None}
    return Run(1, defaults | settings, "0.1.0", "2030-01-01 00:00:00", None, None)


def test_a_search_ends_in_a_page(tmp_path: Path) -> None:
    result = search(
        "nasbench201", skeleton={"cells": 1, "channels": 4}, samples=8, workers=0, out=tmp_path, max_params="20k"
    )
    page = write_report(tmp_path).read_text()
    assert result.best.architecture in page
    assert page.count("<svg") == 4  # the network across and, for phones, down; two charts
    assert page.count('<circle class="dot') == 2 * sum(row[1] >= 1 for row in rows_of(page))
    for text in (
        "20000",
        "independence",
        "All 8 networks",
        "8 networks scored",
        "forward passes",
        "torch",
        "not finished",
    ):
        assert (text in page) == (text != "not finished"), text
    assert "<h1>Best of 8 networks: Dextr " in page
    assert '<p class="soft">nasbench201, at most 20k parameters, random search, no training</p>' in page
    for command in result.to_dict()["next_steps"]:
        assert escape(f"firstlight {command}") in page
    outside = re.findall(r"(?:src|href)=|https?://|@import|url\((?!#)", page)
    assert outside == []


def test_a_search_by_an_ensemble_ends_in_a_page(tmp_path: Path) -> None:
    by = "rank_mean(params,macs)"
    settings = {"skeleton": {"cells": 1, "channels": 4}, "workers": 0, "out": tmp_path}
    result = search("nasbench201", proxy=by, samples=8, **settings)
    page = write_report(tmp_path).read_text()
    assert f"Best of 8 networks: {by} {significant(result.score.value)}, " in page
    assert len(rows_of(page)) == 8
    assert f"params {result.score.parts['params']:.4f}, macs" in page
    assert "no score" not in page


def rows_of(page: str) -> list[list[Any]]:
    """What the page's script makes its table of."""
    (packed,) = re.findall(r'id="networks">([^<]*)</script>', page)
    content = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert [column["name"] for column in content["columns"]][-1] == "architecture"
    return [list(row) for row in zip(*content["values"], strict=True)]


def test_the_best_network_comes_first_and_is_drawn() -> None:
    page = render(run(), [Trial(SKIP, Cost(5, 6), 0.25, 1.0), Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert page.index(CONV) < page.index(SKIP)
    assert 'aria-label="input to output: nor_conv_3x3; 1 to output: skip_connect"' in page
    assert "not finished" in page


def test_networks_without_a_score_are_counted_not_shown() -> None:
    page = render(run(), [Trial(SKIP, Cost(5, 6), None, 1.0), Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert "1 network has no score" in page
    assert SKIP not in page


def test_a_run_without_any_score_has_a_page() -> None:
    page = render(run(max_params=5000), [])
    assert "<h1>No network has a score yet</h1>" in page
    assert "nasbench201, at most 5.0k parameters, random search, no training" in page


def test_a_warm_up_is_some_training() -> None:
    trials = [Trial(CONV, Cost(7, 8), 0.75, 2.0)]
    warmed = {"warmup": "50%:batch_size=32:weights=shared on criteo:480:abc", "input": "criteo:3x16:abc"}
    assert "random search, warm-up on 50% of criteo</p>" in render(run(**warmed), trials)
    as_drawn = {"warmup": "0%:weights=shared on nothing", "input": "criteo:3x16:abc"}
    assert "random search, no training</p>" in render(run(**as_drawn), trials)


def test_text_is_never_markup() -> None:
    page = render(run(proxy="<script>alert(1)</script>"), [Trial(CONV, Cost(7, 8), 0.75, 2.0)])
    assert "<script>alert" not in page


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run"):
        write_report(tmp_path)
    Store(tmp_path / STORE_NAME).close()
    with pytest.raises(StoreError, match="no run yet"):
        write_report(tmp_path)


def test_a_front_is_shown_with_every_cost(tmp_path: Path) -> None:
    result = search(
        "nasbench201",
        proxy="macs",
        skeleton={"cells": 1, "channels": 4},
        samples=30,
        workers=0,
        out=tmp_path,
        objectives="params,memory",
    )
    page = write_report(tmp_path).read_text()
    assert f"<h1>Front of {len(result.front)} among 30 networks, highest score: " in page
    assert f"Front: {len(result.front)} networks that no other network dominates" in page
    assert page.count('<circle class="dot chosen"') == 2 * len(result.front) + 1  # against each cost, and over time
    assert "nasbench201, trade-off of MACs, parameters and bytes of memory, random search" in page
    assert "Score against bytes of memory" in page
    assert all(trial.architecture in page for trial in result.front)
    assert "hypervolume" in page


def test_a_page_of_very_many_networks_shows_some_of_them() -> None:
    trials = [Trial(f"n{number}", Cost(number + 1, 6), number % 97 / 97, float(number)) for number in range(20_000)]
    trials[7] = Trial(CONV, Cost(7, 8), 1.5, 7.0)
    page = render(run(), trials)
    dots = page.count('<circle class="dot')
    assert 2 * 2000 < dots < 2 * 3200
    assert f"{dots // 2:,} of 20,000 networks" in page
    assert page.count(CONV) > 2
    rows = rows_of(page)
    assert rows[0][-1] == CONV
    assert [row[0] for row in rows[:MOST_ROWS]] == [*range(1, MOST_ROWS + 1)]
    assert MOST_ROWS < len(rows) <= MOST_ROWS + dots // 2
    assert f"The best networks and those in the charts, {len(rows):,} of 20,000" in page


@pytest.mark.parametrize("name", ["nasbench201", "darts", "nasrec-full"])
def test_a_page_of_ten_thousand_networks_is_small(name: str) -> None:
    """Of the spaces, those of DARTS have the longest texts and those of NASRec the least alike."""
    space, rng = firstlight.space(name), random.Random(0)
    trials = [
        Trial(str(space.sample(rng)), Cost(rng.randrange(10**6), rng.randrange(10**8)), rng.random(), number / 7)
        for number in range(10_000)
    ]
    page = render(run(space=name, objectives="params,macs"), trials)
    assert len(page.encode()) < 2_000_000
    assert len(rows_of(page)) == 10_000


def test_a_front_of_nearly_all_networks_does_not_make_the_page_large() -> None:
    rng = random.Random(0)
    costs = ("activations", "memory", "latency")
    trials = [
        Trial(f"n{n}", Cost(rng.randrange(10**6), 9), rng.random(), n, {name: rng.random() for name in costs})
        for n in range(10_000)
    ]
    page = render(run(objectives=f"params,{','.join(costs)}"), trials)
    assert page.count('<circle class="dot') < ALL_DOTS * 1.1
    assert len(page.encode()) < 2_000_000


def test_networks_that_score_next_to_nothing_do_not_squeeze_the_others() -> None:
    trials = [Trial(f"n{number}", Cost(number, 6), 1 + number / 100, float(number)) for number in range(1, 30)]
    page = render(run(), [*trials, Trial("idle", Cost(7, 8), 0.0, 50.0)])
    assert "1 network with a score below" in page
    assert page.count('<circle class="dot') == 2 * 29
    assert rows_of(page)[-1][-1] == "idle"


@pytest.mark.parametrize(
    ("name", "text", "drawn"),
    [
        (
            "nats-sss",
            "8:16:24:32:40",
            '<ol class="blocks chain"><li class="end">input</li><li>stem<small>8</small></li>',
        ),
        ("autoformer-tiny", "-".join(["192:3x4", *["3x4"] * 11]), '<li class="end">patches, 192 wide</li>'),
    ],
)
def test_chains_are_blocks_and_transformers_are_stacks(name: str, text: str, drawn: str) -> None:
    assert drawn in render(run(space=name), [Trial(text, Cost(7, 8), 0.75, 2.0)])


def test_a_network_that_its_space_does_not_know_is_not_drawn() -> None:
    page = render(run(), [Trial("no cell", Cost(7, 8), 0.75, 2.0)])
    assert "no cell" in page
    assert "<svg" not in page.partition("<h2>Settings")[0]


def test_a_search_through_a_one_shot_network_shows_what_its_steps_speak_for(tmp_path: Path) -> None:
    result = search(
        "nasbench201",
        algorithm="nasi:steps=3:batch=2:nu_samples=2",
        skeleton={"cells": 1, "channels": 2, "input_shape": (3, 8, 8)},
        workers=0,
        out=tmp_path,
    )
    page = write_report(tmp_path).read_text()
    assert "<h1>Network after 3 steps: " in page
    assert result.best.architecture in page
    assert page.count('class="cell') == 6 * 4
    assert page.count('<rect class="frame"') == 6
    assert page.count("against steps, 4 lines") == 6
    assert "1 network scored and 0 reused" in page
    assert "Score over time" not in page  # there is but one network


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / STORE_NAME) as store:
        store.begin_run({"space": "nasbench201", "proxy": "dextr", "algorithm": "random"}, "1.0", 0)
    for damaged in ("{", "[]", "[" * 5000):
        (tmp_path / "result.json").write_text(damaged)
        with pytest.raises(StoreError, match=r"result.json is damaged"):
            write_report(tmp_path)


def test_a_score_of_which_less_is_better_is_told_as_it_is() -> None:
    scores = {"ntk_condition": {"higher_is_better": False, "parts": {}}}
    finished = replace(
        run(proxy="ntk_condition"), finished="now", result={"best": {"architecture": CONV, "scores": scores}}
    )
    page = render(finished, [Trial(SKIP, Cost(5, 6), -25.0, 1.0), Trial(CONV, Cost(7, 8), -12.5, 2.0)])
    assert "Best of 2 networks: ntk_condition 12.50, 7 parameters" in page
    assert "<dt>ntk_condition</dt><dd>12.500</dd>" in page
    assert "-ntk_condition against parameters" in page


@pytest.mark.parametrize(
    ("part", "outcome", "text", "heading"),
    [
        (
            "retrained",
            "worse",
            "The found network is worse than DLRM (0.5, 0.4): use DLRM.",
            "is worse than DLRM<",
        ),
        ("retrained", "better", "The found network is better than DLRM (0.4 against 0.5).", "One network so far"),
        ("compared", "unclear", "Not distinguishable from the plain ViT on 9 test samples: 1.", "on 9 test samples<"),
        ("compared", "alike", "No network was better than the plain ViT: use that one.", "better than the plain ViT<"),
        ("compared", "better", "Better than the plain ViT by 3.0 points [1.0, 5.0].", "One network so far"),
    ],
)
def test_a_search_that_did_not_help_says_so_at_the_top(part: str, outcome: str, text: str, heading: str) -> None:
    network = {"title": "network", "architecture": "x", "recipe": "quick", "seeds": [0], "params": 1, "macs": 1}
    figures = {"validation_accuracy": 0.5, "test_accuracy": None}
    parts = {"retrained": retrained(""), "compared": {"found": network | figures, "baselines": []}}
    verdict = {"outcome": outcome, "text": text}
    result = {"best": {"architecture": "x", "scores": {}}, part: parts[part] | {"verdict": verdict}}
    page = render(replace(run(), result=result), [Trial("x", Cost(7, 8), 0.75, 2.0)])
    (top,) = re.findall("<h1>.*?</h1>", page)
    assert heading in top
    assert f"<p>{text}</p>" in page


def test_a_search_by_size_names_the_size_once() -> None:
    page = render(run(proxy="params"), [Trial(SKIP, Cost(5, 6), 5.0, 1.0), Trial(CONV, Cost(7, 8), 7.0, 2.0)])
    assert "<h1>Best of 2 networks so far: 7 parameters</h1>" in page
    assert "<dt>params</dt>" not in page


def test_numbers_far_off_leave_the_others_their_digits() -> None:
    assert digits_for([66.1, 65.9, 66.3]) == 3
    assert digits_for([66.1, 65.9, 66.3, -6.4e6]) == 3
    assert digits_for([0.5, 1.0]) == 4
    assert digits_for([float("nan"), 0.0]) == 4


def test_a_space_of_ones_own_has_the_picture_that_its_search_stored() -> None:
    run = search_run(space="mine:convnet")
    drawing = {"nodes": ["input", "<8>"], "edges": [[0, 1, "conv"]], "form": "chain"}
    result = {**(run.result or {}), "drawing": drawing}
    page = render(replace(run, result=result), trials(40))
    assert '<ol class="blocks chain"><li class="end">input</li><li>conv<small>&lt;8&gt;</small></li></ol>' in page
    assert "blocks chain" not in render(run, trials(40))


def test_the_whole_network_is_shown_by_stages() -> None:
    run = search_run()
    layers = [["stem", "Conv2d", [8, 32, 32], 216], ["norm", "BatchNorm2d", [16, 32, 32], 16]]
    stages = [
        {"resolution": "32x32", "layers": layers},
        {"resolution": "vector", "layers": [["head", "Linear", [10], 80]]},
    ]
    page = render(replace(run, result={**(run.result or {}), "stages": stages}), trials(40))
    assert page.count("<details>") == 2
    assert "<b>32x32</b><span>8 to 16 wide</span><span>2 layers</span><span>232 parameters (74%)</span>" in page
    assert "<td><code>stem</code></td><td>Conv2d</td>" in page


def test_a_search_stores_the_picture_and_the_stages_of_what_it_found(tmp_path: Path) -> None:
    found = firstlight.search(
        "nasbench201", proxy="params", samples=2, workers=0, skeleton="channels=4,cells=1", out=tmp_path
    )
    assert sum(stage.params for stage in found.stages) == found.best.cost.params  # type: ignore[union-attr]
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert page.count("<details>") == len(found.stages) == 4
    assert "The whole network" in page
