"""Every experiment runs on a small table, remembers what it measured, and says what it lacks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.papers.toy import SMALL, run, write_cells_of_nb101, write_tables

from firstlight.core.errors import DataError, FirstlightError, SettingError
from firstlight.core.statistics import spearman
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import Findings, Verdict
from firstlight.papers.benchmarks import NB201_C10, DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import RankTable, _over_seeds
from firstlight.proxies.requests import ProxyRequest
from firstlight.spaces import SPACES
from firstlight.storage.store import STORE_NAME, Store

NAMES = (
    "dextr-table1 dextr-table4 dextr-table5 dextr-table6 dextr-figure1 dextr-figure1a dextr-stability dextr-layers "
    "dextr-figure5 dextr-searches dextr-a8 sigeo-table2 sigeo-table3 "
    "sigeo-ablation sigeo-figure2 sigeo-table4 sigeo-table5 sigeo-figure4 sigeo-click-ranks sigeo-published-warm-up "
    "hnas-table1 hnas-table1-nb101 "
    "hnas-table4 hnas-table6 hnas-tables10-12 hnas-table13 hnas-table2 hnas-table3 hnas-table15 hnas-table16 "
    "hnas-figure2 hnas-figure4 hnas-figure5 hnas-theorem3 "
    "nasi-table2 nasi-table3 nasi-table4 nasi-table6 nasi-table7 nasi-table8 nasi-figure1 nasi-figure2 nasi-figure3 "
    "nasi-figure6 nasi-darts nasi-bounds darts-small plain-proxies plain-remedies graf-figure graf-few-labels "
    "robot-searches robot-searches-50 robot-searches-100 robot-transnas prior-spaces"
).split()
# Those of NASI are in test_nasi*.py; those from the scores of classes in test_hnas.py and test_hnas_search.py; that
# about cells of DARTS in test_hnas_cells.py; those that train networks a little in test_sigeo_*.py, and from scratch in
# test_darts_small.py and test_sigeo_plainnet.py; those of the plain benchmark, which answer no paper, in
# test_plain_proxies.py; that of the prior in
# test_prior.py; those from tables in test_graf.py and test_robot*.py
OF_NASI = [name for name in NAMES if name.startswith("nasi-")]
WARMED = ["sigeo-table3", "sigeo-ablation", "sigeo-figure2", "sigeo-table5", "sigeo-click-ranks"]
WARMED += ["sigeo-published-warm-up", "sigeo-figure4", "sigeo-table4"]
FROM_CLASSES = [name for name in NAMES if "classes" in EXPERIMENTS[name].sampled]
# Those of other spaces are in test_dextr.py
OTHER_SPACES = ["dextr-table6", "dextr-searches", "dextr-a8"]
OWN = ["plain-proxies", "plain-remedies", "prior-spaces"]
FROM_TABLES = ["graf-figure", "graf-few-labels", "robot-transnas"]
ELSEWHERE = [*OTHER_SPACES, *OF_NASI, *WARMED, *FROM_CLASSES, *OWN, *FROM_TABLES]
ELSEWHERE += ["hnas-table2", "hnas-theorem3", "darts-small"]
RUNNING = [name for name in NAMES if name not in ("hnas-table1-nb101", *ELSEWHERE)]
# Published figures that no experiment measures: their trainings are too long
NOT_MEASURED = {"HNAS Table 9"}
PAPERS = ("darts", "dextr", "graf", "hnas", "nasi", "robot", "sigeo")
RANK_TABLES = [name for name in NAMES if isinstance(EXPERIMENTS[name].run, RankTable)]


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
        assert len({table.reference for table in experiment.answers}) == (experiment.name not in OWN)
        assert bool(experiment.source) == (experiment.name in OWN)
        sampled = experiment.sampled[0]
        untabled = (
            "sigeo-click-ranks",
            "sigeo-figure4",
            "sigeo-table4",
            "sigeo-table5",
            "dextr-searches",
            "dextr-a8",
            "nasi-darts",
            *OWN,
        )
        assert experiment.needs or sampled in ("images", "widths", "genotypes") or experiment.name in untabled
        assert experiment.samples >= 10


def test_every_published_table_is_answered() -> None:
    answered = [table.source for experiment in EXPERIMENTS.values() for table in experiment.answers]
    published = [table.source for paper in PAPERS for table in read_paper(paper).values()]
    assert set(answered) == set(published) - NOT_MEASURED
    assert EXPERIMENTS["hnas-table1"].published_in == "HNAS Table 1, Table 5"


@pytest.mark.parametrize("name", RANK_TABLES)
def test_rows_of_rank_tables_are_those_of_the_paper(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert isinstance(experiment.run, RankTable)
    table = experiment.run.table
    assert table.columns == tuple(benchmark.name for benchmark in experiment.needs)
    for row in experiment.run.rows:
        for proxy in row.asks:
            ProxyRequest.parse(proxy)
        if row.published:
            for column in table.columns:
                published = table.at(row.published, column)
                assert published is not None
                assert -1 <= published.low <= published.high <= 1
    left_out = set(table.rows) - {row.published for row in experiment.run.rows}
    assert not left_out


def test_columns_that_are_benchmarks_have_their_names() -> None:
    """A column with another name would stand beside no finding."""
    kinds = {f"{on} {kind}" for on in ("NB101", "NB201") for kind in ("Pearson", "Spearman", "Kendall")}  # HNAS Table 4
    names: dict[str, set[str]] = {}
    for experiment in EXPERIMENTS.values():  # several may measure parts of one table
        for table in experiment.answers:
            names.setdefault(table.source, set()).update(benchmark.name for benchmark in experiment.needs)
    for experiment in EXPERIMENTS.values():
        for table in experiment.answers:
            known = [column for column in table.columns if column.startswith(("NB", "TransNAS"))]
            assert set(known) <= names[table.source] | kinds | {"NB201"}, table.source


@pytest.mark.parametrize("name", RUNNING)
def test_it_runs_and_remembers(name: str, data: Path, out: Path) -> None:
    small = SMALL | {"samples": 20 if EXPERIMENTS[name].chosen == "picked" else SMALL["samples"]}
    outcome = run(EXPERIMENTS[name], data=data, out=out, **small)
    assert outcome.findings.lines
    for finding in outcome.findings.lines:
        assert finding.verdict in get_args(Verdict)
        assert finding.ours is None or math.isfinite(finding.ours.value)
    assert any(finding.ours is not None for finding in outcome.findings.lines)
    before = stored(out)
    again = run(EXPERIMENTS[name], data=data, out=out, **small)
    assert stored(out) == before
    assert again == outcome
    written = json.loads((out / f"{name}.json").read_text())
    assert written == json.loads(json.dumps(outcome.to_dict()))
    page = (out / f"{name}.html").read_text()
    assert outcome.experiment.shows in page
    assert page.count("<svg") == len(outcome.findings.charts)


def test_experiments_share_scores(data: Path, tmp_path: Path) -> None:
    whole = EXPERIMENTS["sigeo-table2"]
    assert isinstance(whole.run, RankTable)
    table = run(whole, data=data, out=tmp_path, **SMALL)
    before = stored(tmp_path)
    part = replace(whole, name="a-part", run=replace(whole.run, rows=whole.run.rows[:3]))
    run(part, data=data, out=tmp_path, **SMALL)
    assert stored(tmp_path) == before
    assert set(table.missing) == {"NB101", "NB301"}


def test_bounds_on_nas_bench_101(tmp_path: Path) -> None:
    write_cells_of_nb101(tmp_path)
    small = {"samples": 36, "skeleton": {"cells": 1, "channels": 8, "stacks": 1, "input_shape": (3, 8, 8)}}
    lines = run(EXPERIMENTS["hnas-table1-nb101"], data=tmp_path, **SMALL | small).findings.lines
    found = {line.what: line for line in lines}
    hnas = read_paper("hnas")
    assert found["Grad, realizable"].published == hnas["table1"].at("Grad, realizable", "NB101")
    assert found["SNIP, non-realizable: Kendall"].published == hnas["table1_kendall"].at(
        "SNIP, non-realizable", "NB101"
    )
    assert found["KNAS and Trace: Pearson"].published == hnas["table4"].at("KNAS and Trace", "NB101 Pearson")
    assert found["Grad, realizable"].ours is not None


def test_ours_is_the_correlation_with_the_first_networks(data: Path, out: Path) -> None:
    outcome = run(EXPERIMENTS["dextr-table1"], data=data, out=out, **SMALL)
    (found,) = (line for line in outcome.findings.lines if (line.what, line.on) == ("#params", NB201_C10.name))
    rows = DataFolder(data).table(NB201_C10).frame.iloc[:12]
    space = SPACES["nasbench201"]
    skeleton = space.skeleton(**SMALL["skeleton"])
    params = np.array([space.cost(space.parse(text), skeleton).params for text in rows["architecture"]], dtype=float)
    assert found.ours is not None
    assert found.ours.value == pytest.approx(spearman(params, rows["cifar10_test_200"].to_numpy()))
    assert found.published is not None
    assert found.published.low == 0.72


def test_parts_that_cannot_run_are_listed(data: Path, out: Path) -> None:
    outcome = run(EXPERIMENTS["dextr-table5"], data=data, out=out, **SMALL)
    assert set(outcome.missing) == {"NB101", "NB301"}  # their tables are not in the folder
    assert {line.on for line in outcome.findings.lines} == {NB201_C10.name}


def test_an_experiment_without_any_data_says_what_to_import(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot run yet(.|\n)*NB201 CIFAR-10: nb201.parquet"):
        run(EXPERIMENTS["dextr-table4"], data=tmp_path, **SMALL)
    with pytest.raises(DataError, match="NB-1Shot1 S3"):
        run(EXPERIMENTS["nasi-table3"], data=tmp_path, **SMALL)


def test_several_seeds_are_told_as_mean_and_spread(data: Path, out: Path) -> None:
    outcome = run(EXPERIMENTS["dextr-table4"], data=data, out=out, seed=(0, 1), **SMALL)
    assert all("over 2 seeds" in line.note for line in outcome.findings.lines)
    with pytest.raises(SettingError, match="different ones"):
        run(EXPERIMENTS["dextr-table4"], data=data, seed=(1, 1), **SMALL)


def test_an_experiment_may_take_several_seeds_by_itself(data: Path) -> None:
    asked: list[tuple[int, ...]] = []

    def measure(lab: Lab) -> Findings:
        asked.append(lab.seeds)
        return Findings(())

    experiment = replace(EXPERIMENTS["dextr-table4"], run=measure, seeds=3)
    for seed in (0, (5,), (2, 9)):
        run(experiment, data=data, seed=seed, **SMALL)
    assert asked == [(0, 1, 2), (5, 6, 7), (2, 9)]


def test_sizes_that_cannot_be(data: Path) -> None:
    with pytest.raises(FirstlightError, match="between 10 and 30"):
        run(EXPERIMENTS["dextr-table4"], data=data, **(SMALL | {"samples": 31}))
    with pytest.raises(SettingError, match="samples is 9; dextr-table4 needs 10 networks"):
        run(EXPERIMENTS["dextr-table4"], data=data, **(SMALL | {"samples": 9}))
    with pytest.raises(SettingError, match="dextr-layers needs 20 networks"):
        run(EXPERIMENTS["dextr-layers"], data=data, **(SMALL | {"samples": 19}))


def test_a_correlation_that_is_undefined_for_a_seed_is_told_so() -> None:
    truth = np.arange(12.0)
    assert _over_seeds([truth, np.full(12, np.nan)], truth) == "undefined for some seeds"
    assert _over_seeds([truth, -truth], truth).startswith("over 2 seeds 0.000 ± 1.4")


@pytest.mark.parametrize(("asked", "cost_factor", "taken"), [(30, 1, 30), (29, 10, 20), (12, 10, 12)])
def test_fewer_networks_are_taken_where_they_cost_more(data: Path, asked: int, cost_factor: int, taken: int) -> None:
    lab = Lab(DataFolder(data), InProcess(), Store(":memory:"), asked, input="synthetic")
    expensive = replace(NB201_C10, cost_factor=cost_factor)
    assert len(lab.sample([expensive], lab.setting(expensive.space)).rows) == taken


def test_findings_say_how_to_have_them_again(data: Path, out: Path) -> None:
    outcome = run(EXPERIMENTS["dextr-table4"], data=data, out=out, seed=(0, 1), **SMALL)
    samples, skeleton = SMALL["samples"], "cells=1,channels=4,input_shape=3x8x8"
    asked = f"firstlight reproduce dextr-table4 --samples {samples} --input synthetic --seed 0,1 --skeleton {skeleton}"
    assert outcome.command == asked
    kept = json.loads((out / "dextr-table4.json").read_text(encoding="utf-8"))
    assert kept["command"] == asked
    assert kept["date"] == outcome.date
    assert kept["versions"]["torch"]
    assert outcome.date in (out / "dextr-table4.html").read_text(encoding="utf-8")
