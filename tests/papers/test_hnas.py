"""Tables and figures of HNAS from the scores of classes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.toy import run, write_all_cells
from tests.papers.toy_scores import toy_scores, use

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.core.statistics import kendall, spearman
from firstlight.evaluation.correlate import Study
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import Finding
from firstlight.papers.benchmarks import NB201_C10, NB201_TEST, DataFolder
from firstlight.papers.class_scores import PARTS, ClassScores, ordered
from firstlight.papers.class_study import FromClasses, KnownScores
from firstlight.papers.hnas_figures import along, binned
from firstlight.papers.hnas_search import Answer, Search, lowest_ratio
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.bounds import Candidates, PaperBound
from firstlight.spaces import SPACES
from firstlight.storage.store import Store

FEW = {"workers": 0, "resamples": 12}
HNAS = read_paper("hnas")
MEASURED = 150
SOME = dict.fromkeys(PARTS, MEASURED)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_cells(tmp_path_factory.mktemp("data"))


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> ClassScores:
    return use(monkeypatch, toy_scores(SOME))


def a_lab(folder: Path, **changes: Any) -> Lab:
    return replace(Lab(DataFolder(folder), InProcess(), Store(":memory:"), 6466, (0,), resamples=12), **changes)


def lines_of(name: str, data: Path, **options: Any) -> dict[tuple[str, str], Finding]:
    found = run(EXPERIMENTS[name], data=data, **FEW, **options).findings
    return {(line.what, line.on): line for line in found.lines}


def test_a_study_has_all_networks_of_measured_classes(data: Path, scores: ClassScores) -> None:
    known = FromClasses.of(a_lab(data), "batch16")
    found: Study = known.study(NB201_TEST, known.columns("batch16", "twin"))
    rows, space = found.sample.rows, SPACES["nasbench201"]
    among = set(ordered()[:MEASURED])
    assert set(rows["canonical"]) <= among
    everything = DataFolder(data).table(NB201_C10).frame["architecture"]
    assert len(rows) == sum(str(space.canonical(space.parse(text))) in among for text in everything)
    text = rows["canonical"].iloc[5]
    assert found.utilities[0]["grad_norm"][5] == pytest.approx(scores.frame.loc[text, "batch16.grad_norm"])
    assert found.utilities[0]["ntk_condition"][5] == pytest.approx(-scores.frame.loc[text, "twin.ntk_condition"])


def test_fewer_classes_and_missing_ones(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, toy_scores({"twin": 50, "batch16": 30}))
    assert FromClasses.of(a_lab(data), "batch16").texts("batch16", "twin") == list(ordered()[:30])
    assert FromClasses.of(a_lab(data, samples=12), "batch16").texts("twin") == list(ordered()[:12])
    with pytest.raises(MissingFileError, match=r"benchmarks\.hnas_classes"):
        FromClasses.of(a_lab(data), "batch64")


def test_kappa_is_that_of_64_images_once_all_classes_have_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, toy_scores({"batch16": 6466, "batch64": 30}))
    assert FromClasses.of(a_lab(data)).kappa_parts == {"kappa of the network": "batch16"}
    use(monkeypatch, toy_scores({"batch16": 6466, "batch64": 6466, "twin": 5}))
    assert FromClasses.of(a_lab(data)).kappa_parts == {
        "kappa of the network": "batch64",
        "kappa of the narrow twin": "twin",
    }


def test_known_scores_answer_a_search(data: Path, scores: ClassScores) -> None:
    known, texts = FromClasses.of(a_lab(data), "batch16"), list(ordered()[:9])
    measuring = KnownScores(known, "batch16", "twin")
    by_part = {"snip": "batch16.snip", "naswot": "batch16.naswot:variant=hnas", "ntk_condition": "twin.ntk_condition"}
    for name, column in by_part.items():
        sign = -1 if name == "ntk_condition" else 1
        expected = sign * scores.frame.loc[texts, column].to_numpy(dtype=float)
        assert measuring.utilities(ProxyRequest.parse(name), texts) == pytest.approx(expected, nan_ok=True)
    assert measuring.measured == set(texts)
    with pytest.raises(SettingError, match="and not dextr"):
        measuring.utilities(ProxyRequest.parse("dextr"), texts)


def test_table_1_stands_beside_the_published_figures(data: Path, scores: ClassScores) -> None:
    lines = lines_of("hnas-table1", data)
    alone = lines["Grad, realizable", "NB201 CIFAR-10"]
    assert alone.published == HNAS["table5"].at("Grad, realizable", "NB201 CIFAR-10")
    known = FromClasses.of(a_lab(data), "batch16")
    found = known.study([NB201_C10], known.columns("batch16"))
    truth = found.truth("cifar10_test_200")
    assert alone.ours is not None
    assert alone.ours.value == pytest.approx(spearman(found.utilities[0]["grad_norm"], truth))
    by_kendall = lines["Grad, realizable: Kendall", "NB201 CIFAR-10"]
    assert by_kendall.ours is not None
    assert by_kendall.ours.value == pytest.approx(kendall(found.utilities[0]["grad_norm"], truth))
    assert by_kendall.published == HNAS["table5_kendall"].at("Grad, realizable", "NB201 CIFAR-10")
    for title in ("kappa of the network", "kappa of the narrow twin"):
        for case in ("kappa / M only", "non-realizable", "non-realizable, published code"):
            line = lines[f"Trace, {case}, {title}", "NB201 ImageNet16-120"]
            row = "Trace, non-realizable" if "published" in case else f"Trace, {case}"
            assert line.published == HNAS["table5"].at(row, "NB201 ImageNet16-120")
    assert ("SNIP, product (Eq. 3)", "NB201 CIFAR-10") in lines


@pytest.mark.parametrize("name", ["hnas-table13", "hnas-figure4"])
def test_all_of_it_is_computed(name: str, data: Path, scores: ClassScores) -> None:
    lines = lines_of(name, data)
    assert all(line.ours is not None and math.isfinite(line.ours.value) for line in lines.values())
    published = [line for line in lines.values() if line.published is not None]
    assert bool(published) == (name != "hnas-figure4")


def test_every_published_figure_of_table_4_is_compared(data: Path, scores: ClassScores) -> None:
    lines = lines_of("hnas-table4", data)
    assert len(lines) == 13 * 3
    assert {line.published for line in lines.values()} == {
        HNAS["table4"].at(row, f"NB201 {kind}")
        for row in HNAS["table4"].rows
        for kind in ("Pearson", "Spearman", "Kendall")
    }


def test_every_column_of_tables_10_to_12_is_compared(data: Path, scores: ClassScores) -> None:
    lines = lines_of("hnas-tables10-12", data)
    for table in ("table11", "table12"):
        for column in HNAS[table].columns:
            line = lines[f"Grad, non-realizable, {column}", "NB201 CIFAR-10"]
            assert line.published == HNAS[table].at("Grad, non-realizable", column)
    for column in HNAS["table10"].columns:
        line = lines[f"SNIP, realizable: Kendall, {column}", "NB201 CIFAR-10"]
        assert line.published == HNAS["table10_kendall"].at("SNIP, realizable", column)


def test_a_metric_on_two_data_sets_has_a_spread(data: Path, scores: ClassScores) -> None:
    lines = lines_of("hnas-table6", data)
    first, second = (
        lines[f"Grad, realizable, on {title}", "NB201 CIFAR-10"] for title in ("CIFAR-10", "tinyimagenet16")
    )
    assert first.ours is not None
    assert second.ours is not None
    values = [first.ours.value, second.ours.value]
    assert f"over 2 data sets {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}" in first.note


def test_options_that_would_change_nothing_are_refused(data: Path, scores: ClassScores) -> None:
    for options in ({"input": "synthetic"}, {"skeleton": {"channels": 4}}):
        with pytest.raises(SettingError, match="is computed from scores that come with Firstlight"):
            run(EXPERIMENTS["hnas-table1"], data=data, **FEW, **options)


def test_bins_are_of_equal_size_and_in_order() -> None:
    m = np.array([*np.arange(40.0)[::-1], math.nan, 3.5])
    kappa = np.array([*np.ones(40), 1.0, math.nan])
    found = binned(m, kappa)
    assert [len(rows) for rows in found] == [2] * 20
    assert [m[rows].max() for rows in found] == [2 * number + 1 for number in range(20)]


def test_the_lowest_ratio_by_hand(data: Path, scores: ClassScores) -> None:
    known = FromClasses.of(a_lab(data), "batch16")
    rows = scores.frame.loc[list(ordered()[:MEASURED])]
    ratio = (rows["twin.ntk_condition"] / rows["batch16.snip"]).dropna()
    assert lowest_ratio(known, "SNIP", "twin") == ratio.astype(float).idxmin()


def test_the_correlation_is_that_of_the_best_pair_so_far() -> None:
    candidates = Candidates(["a", "b", "c"], np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
    answers = (Answer("a", 50.0, 0.0, 4.0), Answer("b", 40.0, 1.0, 4.0), Answer("c", 90.0, 1.0, 4.0))
    accuracy = np.array([1.0, 2.0, 3.0])
    # nu = 0 prefers small M, and nu = 9 large M; the second answer is worse than the first
    assert along(Search("", 0, 3, answers, {}), PaperBound(3.0), candidates, accuracy) == pytest.approx([-1, -1, 1])
