"""Searches by scores of classes joined with those of NAS-Bench-Suite-Zero."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.test_hnas import a_lab
from tests.papers.toy import run, write_all_cells
from tests.papers.toy_scores import toy_scores, use

from firstlight.papers import EXPERIMENTS, hnas_search, robot
from firstlight.papers.benchmarks import NB201_TEST
from firstlight.papers.class_scores import ordered
from firstlight.papers.class_study import USUAL, FromClasses
from firstlight.papers.hnas_search import Answer
from firstlight.papers.robot import JoinedScores, JoinedSearches
from firstlight.proxies.ensembles import parse_criterion
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench201.cell import DIGITS

CELLS = 300


def digits_of(text: str) -> str:
    """Write a cell as NASLib does: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3."""
    operations = SPACES["nasbench201"].parse(text).operations
    return "".join(str(DIGITS.index(operations[place])) for place in (0, 1, 3, 2, 4, 5))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_all_cells(tmp_path_factory.mktemp("robot"))
    texts = ordered()[:CELLS]
    scores = {"jacov": np.arange(CELLS, dtype=float), "nwot": -np.arange(CELLS, dtype=float)}
    frame = pd.DataFrame({"dataset": "cifar10", "ops": [digits_of(text) for text in texts], **scores})
    frame.to_parquet(folder / "nb201_zc_proxies.parquet")
    return folder


@pytest.fixture(autouse=True)
def scores(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, toy_scores({"twin": CELLS, "batch16": CELLS}))


def test_scores_of_both_kinds(data: Path) -> None:
    lab = a_lab(data)
    measuring = JoinedScores(FromClasses.of(lab, USUAL, "twin"), USUAL, "twin")
    texts = list(ordered()[:3])
    assert measuring.utilities(parse_criterion("jacov"), texts).tolist() == [0, 1, 2]
    assert measuring.utilities(parse_criterion("naswot"), texts).tolist() == [0, -1, -2]
    assert np.isfinite(measuring.utilities(parse_criterion("synflow"), texts)).any()
    both = measuring.utilities(parse_criterion("rank_mean(jacov*2,naswot)"), texts)
    assert both.argmax() == 2
    assert measuring.measured == set(texts)


@pytest.mark.parametrize(("name", "queries"), [("robot-searches", 20), ("robot-searches-50", 50)])
def test_searches(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, queries: int) -> None:
    few = {title: robot.METHODS[title] for title in ("best by the prior", "random search")}
    monkeypatch.setattr(robot, "METHODS", few)
    monkeypatch.setattr(robot.Searches, "hnas", lambda *_: "random")
    outcome = run(EXPERIMENTS[name], data=data, workers=0, resamples=12, seed=(0, 1), out=tmp_path)
    found = {(finding.what, finding.on): finding for finding in outcome.findings.lines}
    assert found["best by the prior: accuracy, %", "NB201 CIFAR-10"].published is None
    assert len(found) == 3 * 3 * 2
    kept = [json.loads(line) for line in (tmp_path / hnas_search.SEARCHES).read_text().splitlines()]
    assert {(entry["method"], len(entry["answers"])) for entry in kept} == {
        (method, queries) for method in (*few.values(), "random")
    }


def test_published_figures_are_of_twenty_queries(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot, "METHODS", {"RoBoT": "random"})
    monkeypatch.setattr(robot.Searches, "hnas", lambda *_: "random")
    sources = {}
    for name in ("robot-searches", "robot-searches-50"):
        outcome = run(EXPERIMENTS[name], data=data, workers=0, resamples=12, seed=(0, 1))
        sources[name] = next(f.published for f in outcome.findings.lines if f.what == "RoBoT: accuracy, %")
    published = sources["robot-searches"]
    assert published is not None
    assert published.low == 94.36
    assert sources["robot-searches-50"] is None


def test_the_predictor_is_compared_with_the_best_of_the_others(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = {robot.OURS: "verify:by=params:pool=300", "lucky": "verify:by=synflow:pool=300", "other": "random"}
    monkeypatch.setattr(robot, "methods_for", lambda queries: methods)
    monkeypatch.setattr(robot.Searches, "hnas", lambda *_: "random")
    lab = a_lab(data)
    searches = JoinedSearches(FromClasses.of(lab, USUAL, "twin"), "twin")
    found = {title: [searches.run("random", seed, 4) for seed in (0, 1)] for title in methods}
    better = max(searches.truth.networks, key=lambda text: searches.truth.figures[searches.truth.target][text])
    found["lucky"] = [replace(search, answers=(Answer(better, 1.0),)) for search in found["lucky"]]
    lines = list(robot._against_the_first(lab, found))
    assert [line.on for line in lines] == [benchmark.name for benchmark in lab.data.available(NB201_TEST)]
    assert "lucky" in lines[0].what
    assert lines[0].what.startswith("predictor, minus the best of the others")
