"""Experiments that search by HNAS: who chooses among what, how often, and what stands beside the published figures."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.test_experiments import stored
from tests.papers.test_measures import Counting
from tests.papers.toy import SMALL, run, write_all_cells, write_tables

from firstlight.core.errors import DataError, SettingError
from firstlight.core.events import ignore
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.methods import ByTruth, parse_method
from firstlight.papers import EXPERIMENTS, hnas_search
from firstlight.papers.benchmarks import NB201_TEST, DataFolder
from firstlight.papers.hnas_search import (
    BEST_IN_POOL,
    GUIDED,
    OF_ITSELF,
    TABLE3,
    TABLE15,
    UNGUIDED,
    halves,
    lowest_ratio,
    queries_of,
    search,
    short_training,
)
from firstlight.papers.lab import Lab
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, source_for
from firstlight.search.measuring import Twin
from firstlight.storage.store import Store

TINY: dict[str, Any] = {"cells": 1, "channels": 2, "input_shape": (3, 8, 8)}
FEW = SMALL | {"skeleton": TINY}
TWIN = Twin()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_cells(tmp_path_factory.mktemp("data"))


def a_lab(folder: Path, **changes: Any) -> Lab:
    lab = Lab(
        DataFolder(folder), Counting(), Store(":memory:"), 12, (0, 1), "synthetic", tuple(TINY.items()), resamples=20
    )
    return replace(lab, **changes)


def test_a_search_chooses_among_half_of_the_networks_that_are_judged(data: Path) -> None:
    lab = a_lab(data, seeds=(0, 1, 2))
    truth = short_training(lab)
    found = [set(half.networks) for half in halves(lab, truth)]
    assert [len(half) for half in found] == [6, 6, 6]
    assert found[0] != found[1]
    assert len(set.union(*found)) <= 12
    more = set.union(*(set(half.networks) for half in halves(replace(lab, samples=24, seeds=tuple(range(20))), truth)))
    assert set.union(*found) < more
    half = halves(lab, truth)[1]
    assert half.figures == {"cifar10_val_12": {text: truth.figures["cifar10_val_12"][text] for text in half.networks}}
    with pytest.raises(SettingError, match=r"different networks\. Ask for fewer"):
        halves(replace(lab, samples=len(truth) + 1), truth)


@pytest.mark.parametrize(("samples", "queries"), [(12, 2), (119, 19), (120, 20), (5000, 20)])
def test_a_third_of_the_half_may_be_asked_about(data: Path, samples: int, queries: int) -> None:
    assert queries_of(a_lab(data, samples=samples)) == queries


def test_what_is_found_is_the_best_that_the_method_asked_about(data: Path) -> None:
    lab, watched = a_lab(data), list[tuple[int, int | None]]()
    found = search(
        replace(lab, callback=lambda event: watched.append((event.done, event.total))),
        {"guided": "verify:by=params"},
        {"unguided": "evolution"},
    )
    truth = short_training(lab)
    accuracy = truth.figures["cifar10_val_12"]
    contest = Contest(truth, (), None, lab.executor, lab.store, lab.images, lab.skeleton)
    for place, half in enumerate(halves(lab, truth)):
        for title, text, within in (
            ("guided", "verify:by=params:pool=6:batch=16", half),
            ("unguided", "evolution", truth),
        ):
            asked = parse_method(text).run(replace(contest, truth=within), 2, place, ignore)
            texts = [query.architecture for query in asked]
            assert found[title][place] == max(texts, key=lambda text: accuracy[text])
        assert found["guided"][place] in half.networks
    assert watched == [(done, 8) for done in (2, 4, 6, 8)]


def test_proxies_judge_a_network_once(data: Path) -> None:
    lab = a_lab(data)
    assert isinstance(lab.executor, Counting)
    search(lab, {"best": "verify:by=l2_norm", "in turn": "portfolio:by=l2_norm+params"}, {})
    judged = {text for half in halves(lab, short_training(lab)) for text in half.networks}
    # each proxy in its turn, whatever the seed and the method
    asked = [(text, proxy) for proxy in ("l2_norm", "params") for text in judged]
    assert sorted((text, *proxies) for text, proxies in lab.executor.items) == sorted(asked)


def test_the_lowest_ratio_by_hand(data: Path) -> None:
    lab = a_lab(data, seeds=(5,))
    (half,) = halves(lab, short_training(lab))
    scores = {}
    for proxy, setting in (
        ("grad_norm", lab.setting("nasbench201", seed=0)),
        ("ntk_condition", TWIN.of(lab.setting("nasbench201", seed=0))),
    ):
        request = ProxyRequest.parse(proxy)
        source = source_for([request], lab.images, 16 if proxy == "grad_norm" else None)
        own = replace(setting, source=replace(source, side=setting.source.side))
        service = ScoreService(own, [request], lab.executor, lab.store)
        scores[proxy] = {found.architecture: found.scores[proxy].value for found in service.scores(half.networks)}
    ratio = {text: scores["ntk_condition"][text] / m for text, m in scores["grad_norm"].items() if m > 0}
    finite = {text: value for text, value in ratio.items() if math.isfinite(value) and value > 0}
    assert lowest_ratio(lab, "grad_norm", 16, TWIN) == [min(finite, key=lambda text: finite[text])]


def test_the_methods_are_what_their_titles_say() -> None:
    methods = {title: parse_method(text) for title, text in (GUIDED | UNGUIDED).items()}
    assert set(TABLE3.rows) <= set(methods)
    for title, method in methods.items():
        assert isinstance(method, ByTruth)
        assert method.algorithm.algorithm.needs_truth == (title in GUIDED)


def brief(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One search in place of ten, and a method of each kind in place of all."""
    kept = ("HNAS, Grad", "best by kappa")
    monkeypatch.setattr(hnas_search, "GUIDED", {title: GUIDED[title] for title in kept})
    monkeypatch.setattr(hnas_search, "RATIO_METRICS", {"Trace": "ntk_trace"})
    monkeypatch.setattr(hnas_search, "TABLE16_METRICS", ("Grad",))
    assert EXPERIMENTS[name].seeds == 10
    return replace(EXPERIMENTS[name], seeds=1)


@pytest.mark.parametrize(
    ("name", "titles", "published"),
    [
        (
            "hnas-table3",
            ["HNAS, Grad", "best by kappa", "random search", "regularized evolution", BEST_IN_POOL],
            {title: TABLE3.rows[title] for title in ("HNAS, Grad", "regularized evolution")},
        ),
        (
            "hnas-table15",
            ["lowest kappa / M, Trace", OF_ITSELF, BEST_IN_POOL],
            dict.fromkeys(("lowest kappa / M, Trace", OF_ITSELF), TABLE15.rows["Trace"]),
        ),
        ("hnas-table16", ["HNAS, Grad, EI", "HNAS, Grad, UCB", BEST_IN_POOL, "HNAS, Grad, EI minus UCB"], {}),
    ],
)
def test_it_runs_and_remembers(
    name: str, titles: list[str], published: dict[str, Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run(brief(name, monkeypatch), data=data, out=tmp_path, **FEW)
    before = stored(tmp_path)
    assert run(brief(name, monkeypatch), data=data, out=tmp_path, **FEW) == outcome
    assert stored(tmp_path) == before
    lines = {(line.what, line.on): line for line in outcome.findings.lines}
    expected = [(f"{title}: accuracy, %", benchmark.name) for title in titles for benchmark in NB201_TEST]
    assert set(lines) == set(expected)
    for (what, on), line in lines.items():
        place = [benchmark.name for benchmark in NB201_TEST].index(on)
        figures = published.get(what.removesuffix(": accuracy, %"))
        assert line.published == (figures and figures[place])
        assert "1 of 1 searches" in line.note
    assert any("needs 10 seeds, and 1 was given" in remark for remark in outcome.findings.remarks)
    fewer = "queries 2 networks"
    assert any(fewer in remark for remark in outcome.findings.remarks) == (name != "hnas-table15")
    assert outcome.settings["pool"].startswith("12 networks")


def test_what_it_needs(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="samples is 11; hnas-table3 needs 12 networks or more for searches"):
        run(EXPERIMENTS["hnas-table3"], data=data, **(FEW | {"samples": 11}))
    with pytest.raises(DataError, match=r"a column cifar10_val_12 in nb201\.parquet"):
        run(EXPERIMENTS["hnas-table3"], data=write_tables(tmp_path), **FEW)
