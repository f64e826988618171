"""Figures of results and of the folders of their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.test_compare import compared

from firstlight.api.search import search
from firstlight.core.errors import SettingError, StoreError
from firstlight.evaluation.correlate import Sample, Study
from firstlight.probe import Probe
from firstlight.search.result import SearchResult
from firstlight.views import (
    plot_agreement,
    plot_bars,
    plot_curve,
    plot_curves,
    plot_front,
    plot_layers,
    plot_outputs,
    plot_scatter,
    plot_surface,
)
from firstlight.views.pages.comparison import write_comparison
from firstlight.views.pages.correlation import write_correlation

SMALL = {"skeleton": {"channels": 4, "cells": 1}, "workers": 0, "proxy": "params"}


def searched(out: Path | None = None, **options: object) -> SearchResult:
    return search("nasbench201", samples=12, out=out, **{**SMALL, **options})  # type: ignore[arg-type]


def test_a_result_and_its_folder_give_the_same_figures(tmp_path: Path) -> None:
    result = searched(tmp_path, objectives="macs")
    for plot in (plot_front, plot_curve):
        one, other = plot(result), plot(tmp_path)
        for line, same in zip(one.axes[0].lines, other.axes[0].lines, strict=True):
            np.testing.assert_array_equal(np.asarray(line.get_ydata()), np.asarray(same.get_ydata()))
        for first, second in zip(one.axes[0].collections, other.axes[0].collections, strict=True):
            np.testing.assert_array_equal(np.asarray(first.get_offsets()), np.asarray(second.get_offsets()))
        assert one.axes[0].get_ylabel() == other.axes[0].get_ylabel()
    with pytest.raises(SettingError, match="did not use hnas"):
        plot_surface(result)


def test_the_front_is_that_of_the_result() -> None:
    result = searched(objectives="macs")
    chosen = np.asarray(plot_front(result).axes[0].collections[1].get_offsets())
    assert sorted(chosen[:, 0]) == sorted(trial.cost.macs for trial in result.front)
    with pytest.raises(SettingError, match="'latency' is not a known cost of this search; choose from params, macs"):
        plot_front(result, "latency")


def test_without_objectives_the_chosen_network_stands_out() -> None:
    result = searched(proxy="l2_norm")
    (place,) = np.asarray(plot_front(result, "params").axes[0].collections[1].get_offsets())
    assert place[1] == result.score.value


def test_curves_end_at_the_best_and_seeds_share_a_line() -> None:
    results = [searched(proxy="l2_norm", seed=seed) for seed in (0, 1)]
    other = searched(proxy="l2_norm", algorithm="evolution")
    (axes,) = plot_curve([*results, other]).axes
    assert [str(line.get_label()).split(":")[0] for line in axes.lines] == ["random", "evolution"]
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in axes.lines]
    best = [result.score.value for result in (*results, other)]
    assert ends == pytest.approx([(best[0] + best[1]) / 2, best[2]])
    steps = np.diff(np.asarray(axes.lines[0].get_ydata()))
    assert (steps >= 0).all()
    with pytest.raises(SettingError, match="Two of these searches are the same"):
        plot_curve([results[0], results[0]])
    with pytest.raises(SettingError, match="share no axis"):
        plot_curve([results[0], searched()])
    with pytest.raises(SettingError, match="no search"):
        plot_curve([])


def test_a_comparison_and_its_folder_give_the_same_curves(tmp_path: Path) -> None:
    found = compared(("random", "evolution"))
    write_comparison(found, {"space": "transnas-micro"}, tmp_path)
    for against in ("queries", "seconds"):
        one, other = plot_curves(found, against=against).axes[0], plot_curves(tmp_path, against=against).axes[0]
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), np.asarray(same.get_ydata()))
            assert line.get_label() == same.get_label()
    last = [row.figures["toy_test_40"].mean for row in found.rows if row.point == "25 queries"]
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in plot_curves(found).axes[0].lines]
    assert ends == pytest.approx(last)
    with pytest.raises(SettingError, match="not a column of this comparison; choose from toy_test_40"):
        plot_curves(tmp_path, "other")
    with pytest.raises(SettingError, match=r"against \(--against\) is 'time'; write queries or seconds"):
        plot_curves(found, against="time")


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no search"):
        plot_curve(tmp_path)
    with pytest.raises(StoreError, match="holds no comparison"):
        plot_curves(tmp_path)
    (tmp_path / "queries.csv").write_text("method,seed\na,1\n", encoding="utf-8")
    with pytest.raises(StoreError, match="holds no comparison"):
        plot_curves(tmp_path)


def test_searches_of_other_inputs_are_other_lines() -> None:
    (axes,) = plot_curve([searched(proxy="l2_norm", input=name) for name in ("synthetic", "digits")]).axes
    assert len(axes.lines) == 2
    assert "digits" in str(axes.lines[1].get_label())


def test_a_line_ends_with_its_own_search() -> None:
    short = search("nasbench201", samples=4, **{**SMALL, "proxy": "l2_norm"})  # type: ignore[arg-type]
    lines = plot_curve([short, searched(proxy="l2_norm")]).axes[0].lines
    ends = [float(np.asarray(line.get_xdata())[-1]) for line in lines]
    assert ends == [4, 12]


def test_less_is_better_is_turned_around(tmp_path: Path) -> None:
    result = searched(tmp_path, proxy="te_ntk", batch_size=4)
    for figure in (plot_front(result), plot_front(tmp_path)):
        assert figure.axes[0].get_ylabel() == "-te_ntk"
        (place,) = np.asarray(figure.axes[0].collections[1].get_offsets())
        assert place[1] == -result.score.value


def test_a_cost_that_was_no_objective_has_a_front_of_its_own() -> None:
    axes = plot_front(searched(proxy="l2_norm", objectives="params"), "macs").axes[0]
    front = np.asarray(axes.collections[1].get_offsets())
    others = np.asarray(axes.collections[0].get_offsets())
    for cost, score in front:
        assert not ((others[:, 0] <= cost) & (others[:, 1] > score)).any()


NAMES = ("dextr", "accuracy")


@pytest.fixture
def study() -> Study:
    """A proxy is called as a target, which `table` must tell apart."""
    generator = np.random.default_rng(0)
    truth = generator.normal(size=30)
    texts = [f"network {number}" for number in range(30)]
    rows = pd.DataFrame({"architecture": texts, "canonical": texts, "accuracy": truth, "other": -truth})
    utilities = {"dextr": truth + generator.normal(size=30) * 0.3, "accuracy": generator.normal(size=30)}
    utilities["accuracy"][:4] = np.nan
    return Study(Sample(rows, ("accuracy", "other")), (0,), (utilities,), resamples=50)


def test_a_study_and_its_folder_give_the_same_figures(study: Study, tmp_path: Path) -> None:
    write_correlation(study, {"space": "nasbench201"}, tmp_path, ensemble=False)
    for proxy in NAMES:
        one, other = plot_scatter(study, proxy).axes[0], plot_scatter(tmp_path, proxy).axes[0]
        first, second = (np.asarray(axes.collections[0].get_offsets()) for axes in (one, other))
        np.testing.assert_allclose(np.sort(first, axis=0), np.sort(second, axis=0))
        assert one.get_title(loc="left") == other.get_title(loc="left")
    widths = [[patch.get_width() for patch in f.axes[0].patches] for f in (plot_bars(study), plot_bars(tmp_path))]  # type: ignore[attr-defined]
    assert widths[0] == widths[1]
    texts = [[text.get_text() for text in f.axes[0].texts] for f in (plot_agreement(study), plot_agreement(tmp_path))]
    assert texts[0] == texts[1]


def test_the_best_proxy_and_the_first_target_unless_named(study: Study) -> None:
    axes = plot_scatter(study).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dextr (higher is better)", "accuracy")
    assert f"{study.quality['accuracy']['dextr'].estimates['spearman'].value:.3f}" in axes.get_title(loc="left")
    assert len(np.asarray(plot_scatter(study, "accuracy").axes[0].collections[0].get_offsets())) == 26
    ticks = [label.get_text() for label in plot_bars(study, "other").axes[0].get_yticklabels()]
    assert ticks == sorted(NAMES, key=lambda name: -study.quality["other"][name].estimates["spearman"].value)


def test_agreement_is_that_of_the_study(study: Study) -> None:
    values = [float(text.get_text()) for text in plot_agreement(study).axes[0].texts]
    assert values == pytest.approx(study.agreement().to_numpy().ravel(), abs=0.006)


def test_names_that_are_not_there(study: Study) -> None:
    with pytest.raises(SettingError, match="'zen' is not a proxy of this study; choose from dextr, accuracy"):
        plot_scatter(study, "zen")
    with pytest.raises(SettingError, match="'x' is not a target of this study; choose from accuracy, other"):
        plot_bars(study, "x")


@pytest.mark.parametrize("content", [None, "{", "[]", '{"targets": 3}', '{"target": {}}'])
def test_folders_that_hold_no_study(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content, encoding="utf-8")
        (tmp_path / "scores.csv").write_text("architecture\n", encoding="utf-8")
    with pytest.raises(StoreError, match="holds no study of proxies"):
        plot_bars(tmp_path)


def test_a_scatter_plot_needs_two_networks() -> None:
    rows = pd.DataFrame({"architecture": list("abc"), "canonical": list("abc"), "accuracy": [1.0, 2.0, 3.0]})
    study = Study(Sample(rows, ("accuracy",)), (0,), ({"dss": np.array([1.0, np.nan, np.nan])},), resamples=10)
    with pytest.raises(SettingError, match="1 networks have both dss and accuracy; a scatter plot needs at least 2"):
        plot_scatter(study)


def test_a_surface_needs_a_finished_search_by_hnas() -> None:
    result = replace(searched(), findings={"hnas": {"answers": []}})
    with pytest.raises(SettingError, match="has not finished"):
        plot_surface(result)
    grid = {"u": [0.0, 1.0], "exponents": [-4.0, 0.0], "surface": [[1.0, 2.0], [3.0, 4.0]]}
    axes = plot_surface(replace(result, findings={"hnas": {"answers": [], **grid}})).axes[0]
    assert axes.get_ylabel() == "weight of the preference (log10 mu)"


@pytest.mark.parametrize("plot", [plot_layers, plot_outputs])
def test_without_networks_there_is_nothing_to_draw(plot: Callable[[dict[str, Probe]], object]) -> None:
    with pytest.raises(SettingError, match="nothing to draw"):
        plot({})
