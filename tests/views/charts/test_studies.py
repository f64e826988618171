"""Charts of studies: what is described is what was given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from firstlight.views.charts.description import Bar
from firstlight.views.charts.studies import agreement_map, correlation_bars, proxy_scatter

VALUES = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf])


def test_every_network_with_both_numbers_is_a_dot() -> None:
    generator = np.random.default_rng(0)
    scores, truth = generator.normal(size=50), generator.normal(size=50)
    scores[:3], truth[5] = np.nan, np.inf
    chart = proxy_scatter("dextr", "accuracy", scores, truth, rows=range(100, 150))
    known = np.isfinite(scores) & np.isfinite(truth)
    assert [(point.x, point.y) for point in chart.points] == list(zip(scores[known], truth[known], strict=True))
    assert [point.row for point in chart.points] == (100 + np.flatnonzero(known)).tolist()
    expected = stats.spearmanr(scores[known], truth[known]).statistic
    assert chart.title == f"Spearman {expected:.3f}, 46 of 50 networks"
    assert (chart.x_label, chart.y_label) == ("dextr (higher is better)", "accuracy")


def test_ranks_spread_scores_of_very_different_sizes() -> None:
    scores, truth = 10.0 ** np.arange(10), np.arange(10)[::-1].astype(float)
    chart = proxy_scatter("fisher", "accuracy", scores, truth, ranks=True)
    assert sorted(point.x for point in chart.points) == list(range(1, 11))
    assert chart.x_label == "rank by fisher (higher is better)"
    assert chart.title.startswith("Spearman -1.000")


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_any_numbers_are_described(pairs: list[tuple[float, float]]) -> None:
    scores, truth = (np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1))
    known = int((np.isfinite(scores) & np.isfinite(truth)).sum())
    chart = proxy_scatter("a", "b", scores, truth)
    assert len(chart.points) == known
    of = f" of {len(pairs)}" if known < len(pairs) else ""
    assert chart.title.endswith(f"{known}{of} networks")


def test_bars_and_agreement_say_what_they_show() -> None:
    bars = correlation_bars("accuracy", [Bar("dextr", 0.9)])
    assert bars.label == "Spearman correlation with accuracy"
    assert bars.bars[0].interval == (0.9, 0.9)
    chart = agreement_map(["a", "b"], np.array([[1.0, 0.25], [0.25, 1.0]]))
    assert chart.rows == chart.columns == ["a", "b"]
    assert chart.values == [[1.0, 0.25], [0.25, 1.0]]


def test_the_title_says_how_many_networks_are_left_out() -> None:
    chart = proxy_scatter("p", "acc", np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert chart.title.endswith("2 of 3 networks")
    assert proxy_scatter("p", "acc", np.arange(3.0), np.arange(3.0)).title.endswith(", 3 networks")
