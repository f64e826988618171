"""Figures of proxies: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from firstlight.core.errors import SettingError
from firstlight.views.figures.ranks import Bar, agreement, bars, scatter

VALUES = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf])


def test_every_network_with_both_numbers_is_a_dot() -> None:
    generator = np.random.default_rng(0)
    scores, truth = generator.normal(size=50), generator.normal(size=50)
    scores[:3], truth[5] = np.nan, np.inf
    figure = scatter(scores, truth, "dextr", "accuracy")
    (axes,) = figure.axes
    drawn = np.asarray(axes.collections[0].get_offsets())
    known = np.isfinite(scores) & np.isfinite(truth)
    assert sorted(map(tuple, drawn)) == sorted(zip(scores[known], truth[known], strict=True))
    expected = stats.spearmanr(scores[known], truth[known]).statistic
    assert axes.get_title(loc="left") == f"Spearman {expected:.3f}, 46 networks"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dextr", "accuracy")


def test_dots_are_brightest_where_most_are() -> None:
    crowd = np.random.default_rng(1).normal(size=200) * 0.01
    figure = scatter(np.append(crowd, 5.0), np.append(crowd[::-1], 5.0), "a", "b")
    dots = figure.axes[0].collections[0]
    shades = np.asarray(dots.get_array())
    places = np.asarray(dots.get_offsets())
    alone = shades[places[:, 0] == 5.0]
    assert alone.max() == shades.min()
    assert (np.diff(shades) >= 0).all()  # the brightest are drawn on top


def test_ranks_spread_what_orders_of_magnitude_squeeze() -> None:
    scores, truth = 10.0 ** np.arange(10), np.arange(10)[::-1].astype(float)
    axes = scatter(scores, truth, "fisher", "accuracy", ranks=True).axes[0]
    drawn = np.asarray(axes.collections[0].get_offsets())
    assert sorted(drawn[:, 0]) == list(range(1, 11))
    assert axes.get_xlabel() == "rank by fisher"
    assert axes.get_title(loc="left").startswith("Spearman -1.000")


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_any_numbers_are_drawn_or_refused(pairs: list[tuple[float, float]]) -> None:
    scores, truth = (np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1))
    known = int((np.isfinite(scores) & np.isfinite(truth)).sum())
    if known < 2:
        with pytest.raises(SettingError, match=f"{known} networks have both"):
            scatter(scores, truth, "a", "b")
    else:
        assert len(scatter(scores, truth, "a", "b").axes[0].collections[0].get_offsets()) == known  # type: ignore[arg-type]


def test_bars_have_their_intervals() -> None:
    entries = [Bar("dextr", 0.9, 0.8, 0.95), Bar("plain", -0.3, -0.5, 0.1)]
    (axes,) = bars(entries, "Spearman").axes
    assert [patch.get_width() for patch in axes.patches] == [0.9, -0.3]  # type: ignore[attr-defined]
    assert [list(line.get_xdata()) for line in axes.lines[:2]] == [[0.8, 0.95], [-0.5, 0.1]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dextr", "plain"]
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()
    with pytest.raises(SettingError, match="no proxy with a correlation"):
        bars([], "Spearman")


def test_agreement_says_each_number() -> None:
    values = np.array([[1.0, 0.25], [np.nan, 1.0]])
    axes = agreement(["a", "b"], values).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1.00", "0.25", "-", "1.00"]
