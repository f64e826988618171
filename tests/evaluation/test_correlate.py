"""Proxies against a table: which networks are drawn, who shares a score, what is computed again."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import firstlight
from firstlight.core.errors import DataError, SettingError
from firstlight.core.events import Event
from firstlight.core.statistics import spearman, unscored_last
from firstlight.evaluation.correlate import Study, draw_sample, study
from firstlight.execution.executor import InProcess
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import Setting
from firstlight.spaces import SPACES
from firstlight.storage.store import Store
from firstlight.tables.table import Table, as_table

SMALL = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 4)))
SPACE = SPACES["nasbench201"]
# the first convolution of the second leads nowhere: both compute the same
LEAN = "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"
IDLE = "|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"


def a_table(networks: int = 30) -> Table:
    """Networks at random, with figures that grow with the number of parameters, more or less."""
    rng = random.Random(0)
    texts = [LEAN, IDLE]
    while len(texts) < networks:
        text = str(SPACE.sample(rng))
        texts += [] if text in texts else [text]
    params = [SPACE.cost(SPACE.parse(text)).params for text in texts]
    accuracy = [50 + 30 * p / max(params) + rng.uniform(0, 10) for p in params]
    return as_table(
        pd.DataFrame({"architecture": texts, "toy_test_5": accuracy, "toy_val_5": np.arange(networks) % 90.0}), "toy"
    )


def a_study(seeds: tuple[int, ...] = (0,), proxies: str = "params,l2_norm,naswot", samples: int | None = None) -> Study:
    settings = [replace(SMALL, seed=seed) for seed in seeds]
    sample = draw_sample(a_table(), settings[0], ["toy_test_5", "toy_val_5"], samples=samples)
    return study(sample, settings, parse_requests(proxies), InProcess(), Store(":memory:"), resamples=20)


def test_samples_are_drawn_by_the_seed_or_from_the_top() -> None:
    table = a_table()
    drawn = [
        draw_sample(table, replace(SMALL, seed=seed), ["toy_test_5"], samples=12).rows["architecture"].tolist()
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 12
    first = draw_sample(table, SMALL, ["toy_test_5"], first=12).rows["architecture"].tolist()
    assert first == table.frame["architecture"].tolist()[:12]
    everything = draw_sample(table, SMALL, ["toy_test_5"])
    assert len(everything.rows) == 30
    assert len(everything.classes) < 30


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 9}, "must be between 10 and 30"),
        ({"samples": 31}, "must be between 10 and 30"),
        ({"first": 31}, "must be between 10 and 30"),
        ({"samples": 12, "first": 12}, "not both"),
    ],
)
def test_samples_that_cannot_be(settings: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        draw_sample(a_table(), SMALL, ["toy_test_5"], **settings)


def test_each_network_by_itself_if_asked() -> None:
    sample = draw_sample(a_table(), SMALL, ["toy_test_5"], exact=True)
    assert len(sample.classes) == len(sample.rows) == 30


def test_networks_of_one_class_share_a_score_but_not_their_cost() -> None:
    found = a_study(proxies="params,naswot,macs")
    rows = found.sample.rows
    lean, idle = (int(np.flatnonzero(rows["architecture"] == text)[0]) for text in (LEAN, IDLE))
    assert rows["canonical"][lean] == rows["canonical"][idle]
    values = found.utilities[0]
    assert values["naswot"][lean] == values["naswot"][idle]
    for name in ("params", "macs"):
        own = [getattr(SMALL.space.cost(SMALL.space.parse(text), SMALL.skeleton), name) for text in (LEAN, IDLE)]
        assert [values[name][lean], values[name][idle]] == own
        assert own[0] < own[1]


def test_statistics_are_those_of_the_columns() -> None:
    found = a_study()
    truth = found.truth("toy_test_5")
    for name, values in found.utilities[0].items():
        expected = spearman(unscored_last(values), truth)
        assert found.quality["toy_test_5"][name].estimates["spearman"].value == pytest.approx(expected)
    assert found.best("toy_test_5") == "params"
    assert set(found.behind_best["toy_test_5"]) == {"l2_norm", "naswot"}
    assert all(gap.value >= 0 for gap in found.behind_best["toy_test_5"].values())
    agreement = found.agreement()
    assert agreement.loc["params", "params"] == 1
    assert agreement.loc["params", "l2_norm"] == pytest.approx(agreement.loc["l2_norm", "params"])
    table = found.table()
    assert list(table.columns) == ["architecture", "toy_test_5", "toy_val_5", "params", "l2_norm", "naswot"]


def test_a_proxy_that_scores_few_networks_is_not_the_best() -> None:
    found = a_study()
    few = np.where(np.arange(30) < 12, found.truth("toy_test_5"), np.nan)
    some = replace(found, utilities=({**found.utilities[0], "dextr": few},))
    assert some.quality["toy_test_5"]["dextr"].unscored == 18
    assert some.best("toy_test_5") == "params"
    assert [name for name, _ in some.ordered("toy_test_5")][-1] == "dextr"


def test_all_proxies_are_judged_by_the_same_networks_and_those_without_a_score_are_told() -> None:
    found = a_study(proxies="params,synflow")
    without = int(np.isnan(found.utilities[0]["synflow"]).sum())
    assert 0 < without < 15  # no path leads through some networks
    best, other = (found.quality["toy_test_5"][name] for name in ("params", "synflow"))
    assert (best.networks, other.networks, best.unscored, other.unscored) == (30, 30, 0, without)
    gap = found.behind_best["toy_test_5"]["synflow"].value
    assert gap == pytest.approx(best.estimates["spearman"].value - other.estimates["spearman"].value)
    said = found.without_score("toy_test_5", "synflow")
    first = found.sample.rows["architecture"][int(np.flatnonzero(np.isnan(found.utilities[0]["synflow"]))[0])]
    assert said.startswith(f"no score for {without} of 30 networks, which rank last: ")
    assert first in said
    assert found.without_score("toy_test_5", "params") == ""
    reason = found.to_dict()["proxies"]["synflow"]["unscored_reason"]
    assert said.endswith(reason)
    assert "unscored_reason" not in found.to_dict()["proxies"]["params"]


def test_a_target_named_like_a_proxy_keeps_its_column() -> None:
    found = a_study()
    rows = found.sample.rows.rename(columns={"toy_test_5": "params"})
    renamed = replace(found, sample=replace(found.sample, rows=rows, targets=("params",))).table()
    assert renamed["params"].tolist() == found.truth("toy_test_5").tolist()
    assert renamed["params (score)"].tolist() == found.utilities[0]["params"].tolist()


def test_several_seeds_give_mean_and_spread() -> None:
    found = a_study(seeds=(0, 1, 2))
    assert found.over_seeds("toy_test_5", "params") == (pytest.approx(a_spearman(found, 0, "params")), 0.0)
    mean, spread = found.over_seeds("toy_test_5", "l2_norm") or (0.0, 0.0)
    each = [a_spearman(found, number, "l2_norm") for number in range(3)]
    assert (mean, spread) == (pytest.approx(np.mean(each)), pytest.approx(np.std(each, ddof=1)))
    assert spread > 0
    content = found.to_dict()
    assert content["proxies"]["l2_norm"]["spearman_std"] == spread
    assert content["seeds"] == [0, 1, 2]
    assert "spearman_std" not in a_study().to_dict()["proxies"]["l2_norm"]


def a_spearman(found: Study, seed: int, name: str) -> float:
    values, truth = found.utilities[seed][name], found.truth("toy_test_5")
    return spearman(unscored_last(values), truth)


def test_json_has_the_first_target_at_the_top() -> None:
    content = a_study().to_dict(ensemble=True)
    assert content["target"] == "toy_test_5"
    assert content["proxies"] == content["targets"]["toy_test_5"]["proxies"]
    assert {"spearman", "spearman_ci", "kendall", "kendall_ci", "n"} <= content["proxies"]["params"].keys()
    assert content["targets"]["toy_test_5"]["ensemble"]["members"]


def test_asking_again_or_for_more_computes_only_what_is_new(tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []
    options: dict[str, Any] = {"samples": "all", "skeleton": {"cells": 1, "channels": 4}, "workers": 0, "out": tmp_path}
    first = firstlight.correlate("nasbench201", table=a_table(), target="toy_test_5", proxies="params", **options)
    stored = (tmp_path / "store.sqlite").stat().st_size
    again = firstlight.correlate(
        "nasbench201", table=a_table(), target="toy_test_5", proxies="params", callback=asked.append, **options
    )
    assert (tmp_path / "store.sqlite").stat().st_size == stored
    scored = [event for event in asked if event.stage == "scoring"]
    assert scored[-1].done == scored[-1].total == len(first.sample.classes)
    assert again.quality == first.quality
    more = firstlight.correlate("nasbench201", table=a_table(), target="toy_val_5", proxies="params,l2_norm", **options)
    assert (more.utilities[0]["params"] == first.utilities[0]["params"]).all()
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "result.json", "scores.csv", "store.sqlite"}
    assert len(pd.read_csv(tmp_path / "scores.csv")) == 30
    with pytest.raises(SettingError, match="not both"):
        firstlight.correlate(
            "nasbench201", table=a_table(), target="toy_test_5", proxies="params", samples=12, first=12
        )


def test_seeds_and_columns_that_cannot_be() -> None:
    with pytest.raises(SettingError, match="different ones"):
        firstlight.correlate(
            "nasbench201", table=a_table(), target="toy_test_5", proxies="params", samples=None, seed=[0, 0]
        )
    with pytest.raises(firstlight.FirstlightError, match="toy_val_5"):
        firstlight.correlate("nasbench201", table=a_table(), target="toy_vall_5", proxies="params", samples=None)
    few = as_table(a_table().frame.iloc[:9], "few")
    with pytest.raises(DataError, match="at least 10"):
        firstlight.correlate("nasbench201", table=few, target="toy_test_5", proxies="params", samples=None)


def test_statistics_are_computed_once_and_with_a_word_about_each() -> None:
    seen: list[Event] = []
    judged, later = a_study(), a_study()
    judged.judge(seen.append)
    assert [event.note for event in seen[:3]] == ["params", "l2_norm", "naswot"]
    assert [event.done for event in seen] == list(range(9))
    assert {event.total for event in seen} == {8}
    assert judged.__dict__["quality"] is judged.quality
    assert judged.to_dict() == later.to_dict()
