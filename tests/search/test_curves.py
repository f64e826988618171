"""Means over seeds of what the best network so far has reached."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from firstlight.search.curves import PLACES, mean_curves


def log(runs: dict[int, list[tuple[float, float]]], method: str = "a") -> pd.DataFrame:
    """Pairs of elapsed seconds and what the best reaches, by seed."""
    return pd.DataFrame(
        [
            {"method": method, "seed": seed, "query": number, "elapsed": elapsed, "reached": reached}
            for seed, steps in runs.items()
            for number, (elapsed, reached) in enumerate(steps, start=1)
        ]
    )


def test_means_and_deviations_at_each_query() -> None:
    (curve,) = mean_curves(log({0: [(1, 10), (2, 20)], 1: [(1, 14), (2, 20)]}), "reached", first=1)
    assert curve.points == [(1.0, 12.0, pytest.approx(math.sqrt(8))), (2.0, 20.0, 0.0)]
    assert (curve.name, curve.seeds) == ("a", 2)


def test_a_run_that_ends_early_keeps_what_it_has() -> None:
    (curve,) = mean_curves(log({0: [(1, 10)], 1: [(1, 10), (2, 30)]}), "reached", first=1)
    assert [mean for _, mean, _ in curve.points] == [10, 20]


def test_lines_begin_where_all_runs_have_a_network() -> None:
    runs = {0: [(1, math.nan), (2, 5), (3, 5)], 1: [(1, 4), (2, 4), (3, 6)]}
    (curve,) = mean_curves(log(runs), "reached", first=1)
    assert [x for x, _, _ in curve.points] == [2, 3]


def test_seconds_go_from_when_all_have_begun_to_the_average_end() -> None:
    runs = {0: [(1, 10), (4, 20)], 1: [(2, 30), (8, 40)]}
    (curve,) = mean_curves(log(runs), "reached", "seconds", first=1)
    x = [place for place, _, _ in curve.points]
    assert (x[0], x[-1], len(x)) == (2, 6, PLACES)
    assert (curve.points[0][1], curve.points[-1][1]) == (20, 25)


def test_without_seconds_there_is_no_line() -> None:
    assert mean_curves(log({0: [(math.nan, 10)], 1: [(1, 10)]}), "reached", "seconds") == []


def test_a_line_ends_with_the_longest_run_of_its_method() -> None:
    both = pd.concat([log({0: [(1, 1)] * 20}, "long"), log({0: [(1, 2)] * 5, 1: [(1, 2)] * 3}, "short")])
    assert [curve.points[-1][0] for curve in mean_curves(both, "reached")] == [20, 5]


def test_methods_are_apart_and_in_their_order() -> None:
    both = pd.concat([log({0: [(1, 1)] * 20}, "z"), log({0: [(1, 2)] * 20}, "b")])
    curves = mean_curves(both, "reached")
    assert [curve.name for curve in curves] == ["z", "b"]
    assert curves[0].points[0][0] == 2  # a tenth of the queries
