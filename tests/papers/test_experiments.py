"""Every experiment runs on a small table, remembers what it measured, and says what it lacks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.papers.toy import SMALL, write_cells_of_nb101, write_tables

from firstlight.core.errors import DataError, FirstlightError, SettingError
from firstlight.core.references import REFERENCES
from firstlight.core.statistics import spearman
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import Findings, Verdict
from firstlight.papers.benchmarks import NB201_C10, NB201_TEST, ONE_SHOT, Shelf
from firstlight.papers.dextr_tables import TABLE1, TABLE1_ON, TABLE4
from firstlight.papers.hnas import OTHER_NON_REALIZABLE
from firstlight.papers.lab import Lab
from firstlight.papers.nasi import TABLE3, networks, width_remark
from firstlight.papers.rank_rows import RankRow, _over_seeds
from firstlight.papers.runner import reproduce
from firstlight.papers.sigeo import TABLE2, TABLE2_ON
from firstlight.proxies.requests import ProxyRequest
from firstlight.spaces import SPACES
from firstlight.storage.store import STORE_NAME, Store

NAMES = (
    "dextr-table1 dextr-table4 dextr-table5 dextr-figure1 dextr-stability dextr-layers sigeo-table2 sigeo-table3 "
    "sigeo-ablation sigeo-figure2 sigeo-table5 hnas-table1 "
    "hnas-table4 hnas-table6 hnas-tables10-12 hnas-table13 hnas-table2 hnas-table3 hnas-table15 hnas-table16 "
    "nasi-table2 nasi-table3 nasi-table6 nasi-table7 nasi-table8 nasi-figure1 nasi-nb201"
).split()
# Those that search are in test_nasi_search.py and test_hnas_search.py; that about cells of DARTS in test_hnas_cells.py,
# those that train networks a little in test_sigeo_warm.py, test_sigeo_figure2.py and test_sigeo_clicks.py
SEARCHING = ["nasi-table2", "nasi-table8", "nasi-nb201"]
WARMED = ["sigeo-table3", "sigeo-ablation", "sigeo-figure2", "sigeo-table5"]
ELSEWHERE = [*SEARCHING, *WARMED, "hnas-table2", "hnas-table3", "hnas-table15", "hnas-table16"]
RUNNING = [name for name in NAMES if name not in ("nasi-table3", *ELSEWHERE)]
DECLARED = [(TABLE1, TABLE1_ON), (TABLE4, NB201_TEST), (TABLE2, TABLE2_ON), (TABLE3, ONE_SHOT)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that experiments share what they measure."""
    return tmp_path_factory.mktemp("out")


def stored(out: Path) -> int:
    with Store(out / STORE_NAME) as store:
        return len(store._execute("SELECT 1 FROM scores"))


def test_all_that_were_asked_for_are_there() -> None:
    assert set(EXPERIMENTS) == set(NAMES)
    for experiment in EXPERIMENTS.values():
        assert experiment.reference in REFERENCES
        assert experiment.needs or experiment.sampled[0] in ("images", "widths") or experiment.name == "sigeo-table5"
        assert experiment.samples >= 10


@pytest.mark.parametrize(("rows", "on"), DECLARED)
def test_published_tables_are_complete(rows: tuple[RankRow, ...], on: tuple[object, ...]) -> None:
    for entry in rows:
        assert len(entry.published) == len(on), entry.name
        assert all(value is None or -1 <= value <= 1 for value in entry.published)
        for proxy in entry.asks:
            ProxyRequest.parse(proxy)


@pytest.mark.parametrize("name", RUNNING)
def test_it_runs_and_remembers(name: str, data: Path, out: Path) -> None:
    small = SMALL | {"samples": 20 if EXPERIMENTS[name].chosen == "picked" else SMALL["samples"]}
    outcome = reproduce(EXPERIMENTS[name], data=data, out=out, **small)
    assert outcome.findings.lines
    for finding in outcome.findings.lines:
        assert finding.verdict in get_args(Verdict)
        assert finding.ours is None or math.isfinite(finding.ours.value)
    assert any(finding.ours is not None for finding in outcome.findings.lines)
    before = stored(out)
    again = reproduce(EXPERIMENTS[name], data=data, out=out, **small)
    assert stored(out) == before
    assert again == outcome
    written = json.loads((out / f"{name}.json").read_text())
    assert written == json.loads(json.dumps(outcome.to_dict()))
    page = (out / f"{name}.html").read_text()
    assert outcome.experiment.shows in page
    assert page.count("<svg") == len(outcome.findings.charts)


def test_other_metrics_stand_beside_the_published_ones(data: Path, out: Path) -> None:
    lines = reproduce(EXPERIMENTS["hnas-table13"], data=data, out=out, **SMALL).findings.lines
    published = {line.what: line.published.low for line in lines if line.published}
    assert published == {f"{name}, non-realizable": value for name, value in OTHER_NON_REALIZABLE.items()}
    assert {line.what for line in lines} - published.keys() == {f"{name}, realizable" for name in OTHER_NON_REALIZABLE}


def test_experiments_share_scores(data: Path, tmp_path: Path) -> None:
    table = reproduce(EXPERIMENTS["hnas-table4"], data=data, out=tmp_path, **SMALL)
    before = stored(tmp_path)
    reproduce(EXPERIMENTS["hnas-table6"], data=data, out=tmp_path, **SMALL)
    assert stored(tmp_path) == before
    assert table.missing == {}


def test_ours_is_the_correlation_with_the_first_networks(data: Path, out: Path) -> None:
    outcome = reproduce(EXPERIMENTS["dextr-table1"], data=data, out=out, **SMALL)
    (found,) = (line for line in outcome.findings.lines if (line.what, line.on) == ("#params", NB201_C10.name))
    rows = Shelf(data).table(NB201_C10).frame.iloc[:12]
    space = SPACES["nasbench201"]
    skeleton = space.skeleton(**SMALL["skeleton"])
    params = np.array([space.cost(space.parse(text), skeleton).params for text in rows["architecture"]], dtype=float)
    assert found.ours is not None
    assert found.ours.value == pytest.approx(spearman(params, rows["cifar10_test_200"].to_numpy()))
    assert found.published is not None
    assert found.published.low == 0.72


def test_parts_that_cannot_run_are_listed(data: Path, out: Path) -> None:
    outcome = reproduce(EXPERIMENTS["dextr-table5"], data=data, out=out, **SMALL)
    assert set(outcome.missing) == {"NB101", "NB301"}  # their tables are not in the folder
    assert {line.on for line in outcome.findings.lines} == {NB201_C10.name}


def test_an_experiment_without_any_data_says_what_to_import(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot run yet(.|\n)*NB201 CIFAR-10: nb201.parquet"):
        reproduce(EXPERIMENTS["dextr-table4"], data=tmp_path, **SMALL)
    with pytest.raises(DataError, match="NB-1Shot1 S3"):
        reproduce(EXPERIMENTS["nasi-table3"], data=tmp_path, **SMALL)


def test_several_seeds_are_told_as_mean_and_spread(data: Path, out: Path) -> None:
    outcome = reproduce(EXPERIMENTS["dextr-table4"], data=data, out=out, seed=(0, 1), **SMALL)
    assert all("over 2 seeds" in line.note for line in outcome.findings.lines)
    with pytest.raises(SettingError, match="different ones"):
        reproduce(EXPERIMENTS["dextr-table4"], data=data, seed=(1, 1), **SMALL)


def test_an_experiment_may_take_several_seeds_by_itself(data: Path) -> None:
    asked: list[tuple[int, ...]] = []

    def run(lab: Lab) -> Findings:
        asked.append(lab.seeds)
        return Findings(())

    experiment = replace(EXPERIMENTS["dextr-table4"], run=run, seeds=3)
    for seed in (0, (5,), (2, 9)):
        reproduce(experiment, data=data, seed=seed, **SMALL)
    assert asked == [(0, 1, 2), (5, 6, 7), (2, 9)]


def test_sizes_that_cannot_be(data: Path) -> None:
    with pytest.raises(FirstlightError, match="30 networks"):
        reproduce(EXPERIMENTS["dextr-table4"], data=data, **(SMALL | {"samples": 31}))
    with pytest.raises(SettingError, match="samples is 9; dextr-table4 needs 10 networks"):
        reproduce(EXPERIMENTS["dextr-table4"], data=data, **(SMALL | {"samples": 9}))
    with pytest.raises(SettingError, match="dextr-layers needs 20 networks"):
        reproduce(EXPERIMENTS["dextr-layers"], data=data, **(SMALL | {"samples": 19}))


def test_a_correlation_that_is_undefined_for_a_seed_is_told_so() -> None:
    truth = np.arange(12.0)
    assert _over_seeds([truth, np.full(12, np.nan)], truth) == "undefined for some seeds"
    assert _over_seeds([truth, -truth], truth).startswith("over 2 seeds 0.000 ± 1.4")


@pytest.mark.parametrize(("asked", "dearness", "taken"), [(30, 1, 30), (29, 10, 20), (12, 10, 12)])
def test_fewer_networks_are_taken_where_they_cost_more(data: Path, asked: int, dearness: int, taken: int) -> None:
    lab = Lab(Shelf(data), InProcess(), Store(":memory:"), asked, input="synthetic")
    dear = replace(NB201_C10, dearness=dearness)
    assert len(lab.sample([dear], lab.setting(dear.space)).rows) == taken


def test_labels_and_data_are_compared_where_there_are_images(data: Path) -> None:
    settings = SMALL | {"skeleton": {"cells": 1, "channels": 5}}
    outcome = reproduce(EXPERIMENTS["nasi-table6"], data=data, **(settings | {"input": "digits@8"}))
    values = {line.what: line.ours.value for line in outcome.findings.lines if line.ours}
    assert set(values) == {
        f"{kind}: true labels and random {what}" for kind in ("Pearson", "Spearman") for what in ("labels", "data")
    }
    assert all(-1 <= value < 1 for value in values.values())
    assert not any("shown noise" in remark for remark in outcome.findings.remarks)
    noise = reproduce(EXPERIMENTS["nasi-table6"], data=data, **settings)
    assert all(line.ours and line.ours.value == pytest.approx(1) for line in noise.findings.lines)
    assert any("shown noise" in remark for remark in noise.findings.remarks)


def test_networks_of_nasbench1shot1_are_narrow_unless_said_otherwise(tmp_path: Path) -> None:
    write_cells_of_nb101(tmp_path)
    space = SPACES["nasbench1shot1-s1"]
    for given, channels in ({}, 16), ({"channels": 8}, 8):
        skeleton = tuple((given | {"cells": 1}).items())
        lab = Lab(Shelf(tmp_path), InProcess(), Store(":memory:"), 1000, skeleton=skeleton, input="synthetic")
        study = networks(lab, ONE_SHOT[0], ["params"])
        built = space.skeleton(cells=1, channels=channels)
        costs = [space.cost(space.parse(text), built) for text in study.sample.rows["canonical"]]
        assert study.utilities[0]["params"].tolist() == [cost.params for cost in costs]
        assert len(costs) == 12  # all that there are
        assert [f"channels={channels}," in remark for remark in width_remark(lab)] == [True] * (not given)


def test_findings_say_how_to_have_them_again(data: Path, out: Path) -> None:
    outcome = reproduce(EXPERIMENTS["dextr-table4"], data=data, out=out, seed=(0, 1), **SMALL)
    samples, skeleton = SMALL["samples"], "cells=1,channels=4,input_shape=3x8x8"
    asked = f"firstlight reproduce dextr-table4 --samples {samples} --input synthetic --seed 0,1 --skeleton {skeleton}"
    assert outcome.command == asked
    kept = json.loads((out / "dextr-table4.json").read_text(encoding="utf-8"))
    assert kept["command"] == asked
    assert kept["date"] == outcome.date
    assert kept["versions"]["torch"]
    assert outcome.date in (out / "dextr-table4.html").read_text(encoding="utf-8")
