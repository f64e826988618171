"""Experiments that search by HNAS: what they choose among, what is kept, and the published figures beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.test_hnas import a_lab
from tests.papers.toy import run, write_all_cells
from tests.papers.toy_scores import toy_scores, use

from firstlight.papers import EXPERIMENTS, hnas_figures, hnas_search
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.class_scores import ClassScores, ordered
from firstlight.papers.hnas_search import SEARCHES, Search, searches_of
from firstlight.papers.lookup import Lookup
from firstlight.papers.published import read_paper
from firstlight.storage.store import Store

HNAS = read_paper("hnas")
FEW: dict[str, Any] = {"workers": 0, "resamples": 12, "seed": (0, 1)}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_cells(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def scores(monkeypatch: pytest.MonkeyPatch) -> ClassScores:
    monkeypatch.setattr(hnas_search, "QUERIES", 3)
    return use(monkeypatch, toy_scores({"twin": 300, "batch16": 200, "batch64": 100}))


def test_a_search_queries_measured_classes_and_chooses_the_best(data: Path) -> None:
    searches = searches_of(a_lab(data))
    found = searches.run(searches.hnas("Trace", "pool=40"), 3, 4)
    texts = [answer.architecture for answer in found.answers]
    assert len(set(texts)) == len(texts) == 4
    assert set(texts) <= set(ordered()[:200])
    figures = searches.truth.figures["cifar10_val_12"]
    assert [answer.reached for answer in found.answers] == [figures[text] for text in texts]
    assert figures[found.chosen] == max(figures[text] for text in texts)
    assert all(answer.u is not None and answer.exponent is not None for answer in found.answers)
    lookup = Lookup(a_lab(data), NB201_C10)
    assert lookup.of(found.best_in_pool[NB201_C10.name]) >= lookup.of(found.chosen)


def test_a_finished_search_is_not_run_again(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = a_lab(data, store=Store(tmp_path / "store.sqlite"))
    found = searches_of(lab).run("random", 0, 4)
    again = searches_of(lab)
    monkeypatch.setattr(again, "_searched", lambda *asked: pytest.fail("searched again"))
    assert again.run("random", 0, 4) == found
    (line,) = (tmp_path / SEARCHES).read_text().splitlines()
    assert json.loads(line)["method"] == "random"
    monkeypatch.setattr(hnas_search, "USUAL", "batch64")  # other scores, other searches
    assert searches_of(lab)._finished == {}


def test_pools_differ_in_what_they_hold(data: Path) -> None:
    searches = searches_of(a_lab(data))
    lookup, sizes = Lookup(a_lab(data), NB201_C10), {}
    for pool in ("pool=10", "pool=10:growing=true", "pool=200"):
        runs = [searches.run(searches.hnas("Grad", pool), seed, 4) for seed in range(2)]
        sizes[pool] = sum(lookup.of(run.best_in_pool[NB201_C10.name]) for run in runs)
    assert sizes["pool=10"] <= sizes["pool=10:growing=true"] <= sizes["pool=200"]


def test_table_3_stands_beside_the_published_figures(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnas_search, "POOLS", {"growing pool": "pool=10:growing=true"})
    monkeypatch.setattr(hnas_search, "GROWING", 20)
    monkeypatch.setattr(hnas_search, "PROXY_OF", {name: hnas_search.PROXY_OF[name] for name in ("Grad", "NASWOT")})
    monkeypatch.setattr(hnas_search, "METRICS", {"Grad": "grad_norm"})
    found = run(EXPERIMENTS["hnas-table3"], data=data, **FEW).findings
    published = {line.what: line.published for line in found.lines if line.on == "NB201 CIFAR-10" and line.published}
    assert published == {
        "random search: accuracy, %": HNAS["table3"].at("random search", "NB201 CIFAR-10"),
        "regularized evolution: accuracy, %": HNAS["table3"].at("regularized evolution", "NB201 CIFAR-10"),
        "HNAS, Grad, growing pool: accuracy, %": HNAS["table3"].at("HNAS, Grad", "NB201 CIFAR-10"),
        "HNAS, NASWOT, growing pool: accuracy, %": HNAS["table14"].at("HNAS, NASWOT", "NB201 CIFAR-10"),
        "HNAS, Grad, growing pool, published code's objective: accuracy, %": HNAS["table3"].at(
            "HNAS, Grad", "NB201 CIFAR-10"
        ),
        "HNAS, Grad, growing pool, by ranks: accuracy, %": HNAS["table3"].at("HNAS, Grad", "NB201 CIFAR-10"),
    }
    assert any("best by SynFlow" in line.what for line in found.lines)
    assert any("minus the best of what a search chooses among" in line.what for line in found.lines)


def test_tables_15_and_16(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {(line.what, line.on): line for line in run(EXPERIMENTS["hnas-table15"], data=data, **FEW).findings.lines}
    line = lines["lowest kappa / M, Trace, kappa of the narrow twin: accuracy, %", "NB201 CIFAR-100"]
    assert line.published == HNAS["table15"].at("lowest kappa / M, Trace", "NB201 CIFAR-100")
    monkeypatch.setattr(hnas_search, "POOLS", {"growing pool": "pool=10:growing=true"})
    found = run(EXPERIMENTS["hnas-table16"], data=data, **FEW).findings.lines
    published = [line.published for line in found if line.on == "NB201 CIFAR-10" and line.published]
    rows = [row for row in HNAS["table16"].rows if row != "optimal"]
    assert published == [HNAS["table16"].at(row, "NB201 CIFAR-10") for row in rows]
    assert any(line.what.startswith("HNAS, Trace, EI minus UCB") for line in found)


def test_figures_2_and_5(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (hnas_search, hnas_figures):
        monkeypatch.setattr(module, "POOLS", {"growing pool": "pool=10:growing=true"})
    monkeypatch.setattr(hnas_figures, "BUDGET", 6)
    monkeypatch.setattr(hnas_figures, "BUDGETS", (2, 6))
    found = run(EXPERIMENTS["hnas-figure2"], data=data, **FEW).findings
    assert len(found.charts) == 3
    assert {line.what for line in found.lines} >= {"HNAS, Trace, 2 queries: error, %", "REINFORCE, 6 queries: error, %"}
    found = run(EXPERIMENTS["hnas-figure5"], data=data, **FEW).findings
    assert len(found.charts) == 1
    assert {line.what.partition(":")[0] for line in found.lines} == {"form=paper", "form=official", "form=rank"}


def test_the_best_so_far() -> None:
    answers = tuple(hnas_search.Answer(str(number), reached) for number, reached in enumerate((3.0, 1.0, 5.0)))
    search = Search("", 0, 3, answers, {})
    assert [hnas_figures.best_so_far(search, count) for count in (1, 2, 3)] == ["0", "0", "2"]
    assert replace(search, answers=answers[:2]).chosen == "0"
