"""Figures of runs, from results and from their folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.test_compare import compared

import firstlight
from firstlight.core.errors import SettingError, StoreError
from firstlight.views.figures.runs import ComparisonFigures, SearchFigures, search_curves
from firstlight.views.pages.comparison import write_comparison

SMALL = {"skeleton": {"channels": 4, "cells": 1}, "workers": 0, "proxy": "params"}


def searched(out: Path | None = None, **options: object) -> firstlight.SearchResult:
    return firstlight.search("nasbench201", samples=12, out=out, **{**SMALL, **options})  # type: ignore[arg-type]


def test_a_result_and_its_folder_give_the_same_figures(tmp_path: Path) -> None:
    result = searched(tmp_path, objectives="macs")
    folder = SearchFigures.of_folder(tmp_path)
    for one, other in (
        (result.plot_front(), folder.front()),
        (result.plot_curve(), search_curves([folder])),
    ):
        for line, same in zip(one.axes[0].lines, other.axes[0].lines, strict=True):
            np.testing.assert_array_equal(np.asarray(line.get_ydata()), np.asarray(same.get_ydata()))
        for first, second in zip(one.axes[0].collections, other.axes[0].collections, strict=True):
            np.testing.assert_array_equal(np.asarray(first.get_offsets()), np.asarray(second.get_offsets()))
        assert one.axes[0].get_ylabel() == other.axes[0].get_ylabel()
    with pytest.raises(SettingError, match="not made by hnas"):
        result.plot_surface()


def test_the_front_is_that_of_the_result() -> None:
    result = searched(objectives="macs")
    chosen = np.asarray(result.plot_front().axes[0].collections[1].get_offsets())
    assert sorted(chosen[:, 0]) == sorted(trial.cost.macs for trial in result.front)
    with pytest.raises(SettingError, match="'latency' is not among the costs that this search knows: params, macs"):
        result.plot_front("latency")


def test_without_objectives_the_chosen_network_stands_out() -> None:
    result = searched(proxy="l2_norm")
    (place,) = np.asarray(result.plot_front("params").axes[0].collections[1].get_offsets())
    assert place[1] == result.score.value


def test_curves_end_at_the_best_and_seeds_share_a_line() -> None:
    results = [searched(proxy="l2_norm", seed=seed) for seed in (0, 1)]
    other = searched(proxy="l2_norm", algorithm="evolution")
    figures = [SearchFigures.of_result(result) for result in (*results, other)]
    (axes,) = search_curves(figures).axes
    assert [str(line.get_label()).split(":")[0] for line in axes.lines] == ["random", "evolution"]
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in axes.lines]
    best = [result.score.value for result in (*results, other)]
    assert ends == pytest.approx([(best[0] + best[1]) / 2, best[2]])
    steps = np.diff(np.asarray(axes.lines[0].get_ydata()))
    assert (steps >= 0).all()
    with pytest.raises(SettingError, match="Two of these searches are the same"):
        search_curves([figures[0], figures[0]])
    with pytest.raises(SettingError, match="share no axis"):
        search_curves([figures[0], SearchFigures.of_result(searched())])
    with pytest.raises(SettingError, match="no search"):
        search_curves([])


def test_a_comparison_and_its_folder_give_the_same_curves(tmp_path: Path) -> None:
    found = compared(("random", "evolution"))
    write_comparison(found, {"space": "transnas-micro"}, tmp_path)
    folder = ComparisonFigures.of_folder(tmp_path)
    for against in ("queries", "seconds"):
        one = found.plot_curves(against=against).axes[0]  # type: ignore[arg-type]
        other = folder.curves(against=against).axes[0]  # type: ignore[arg-type]
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), np.asarray(same.get_ydata()))
            assert line.get_label() == same.get_label()
    last = [row.figures["toy_test_40"].mean for row in found.rows if row.point == "25 queries"]
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in found.plot_curves().axes[0].lines]
    assert ends == pytest.approx(last)
    with pytest.raises(SettingError, match="not among the columns of this comparison: toy_test_40"):
        folder.curves("other")


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no search"):
        SearchFigures.of_folder(tmp_path)
    with pytest.raises(StoreError, match="holds no comparison"):
        ComparisonFigures.of_folder(tmp_path)
    (tmp_path / "queries.csv").write_text("method,seed\na,1\n", encoding="utf-8")
    with pytest.raises(StoreError, match="holds no comparison"):
        ComparisonFigures.of_folder(tmp_path)


def test_searches_of_other_inputs_are_other_lines() -> None:
    figures = [SearchFigures.of_result(searched(proxy="l2_norm", input=name)) for name in ("synthetic", "digits")]
    (axes,) = search_curves(figures).axes
    assert len(axes.lines) == 2
    assert "digits" in str(axes.lines[1].get_label())


def test_a_line_ends_with_its_own_search() -> None:
    short = firstlight.search("nasbench201", samples=4, **{**SMALL, "proxy": "l2_norm"})  # type: ignore[arg-type]
    figures = [SearchFigures.of_result(result) for result in (short, searched(proxy="l2_norm"))]
    ends = [float(np.asarray(line.get_xdata())[-1]) for line in search_curves(figures).axes[0].lines]
    assert ends == [4, 12]


def test_less_is_better_is_turned_around(tmp_path: Path) -> None:
    result = searched(tmp_path, proxy="te_ntk", batch_size=4)
    for figure in (result.plot_front(), SearchFigures.of_folder(tmp_path).front()):
        assert figure.axes[0].get_ylabel() == "-te_ntk"
        (place,) = np.asarray(figure.axes[0].collections[1].get_offsets())
        assert place[1] == -result.score.value


def test_a_cost_that_was_no_objective_has_a_front_of_its_own() -> None:
    axes = searched(proxy="l2_norm", objectives="params").plot_front("macs").axes[0]
    front = np.asarray(axes.collections[1].get_offsets())
    others = np.asarray(axes.collections[0].get_offsets())
    for cost, score in front:
        assert not ((others[:, 0] <= cost) & (others[:, 1] > score)).any()
