"""Figures of searches: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pytest

from firstlight.core.errors import SettingError
from firstlight.search.curves import Curve
from firstlight.views.figures.searches import curves, front, surface


def test_lines_have_bands_and_names() -> None:
    entries = [
        Curve("random", [(1, 10, 2), (2, 12, 1)], 5),
        Curve("evolution", [(1, 11, 0), (2, 15, 0)], 5),
    ]
    (axes,) = curves(entries, "queries", "accuracy").axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[10, 12], [11, 15]]
    band = axes.collections[0].get_paths()[0].vertices
    assert (np.asarray(band)[:, 1].min(), np.asarray(band)[:, 1].max()) == (8, 13)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["random", "evolution"]
    assert axes.get_title(loc="left") == "mean ± deviation over 5 seeds"
    dashes = {line.get_linestyle() for line in axes.lines}
    assert len(dashes) == 2  # told apart without colours
    with pytest.raises(SettingError, match="accuracy against queries"):
        curves([], "queries", "accuracy")


def test_one_seed_has_no_word_of_deviations() -> None:
    axes = curves([Curve("random", [(1, 10, 0)], 1)], "queries", "accuracy").axes[0]
    assert axes.get_title(loc="left") == ""
    assert axes.get_legend() is None


def test_a_front_is_joined_in_steps() -> None:
    costs, scores = np.array([3.0, 1.0, 2.0, 2.5]), np.array([9.0, 4.0, 3.0, np.nan])
    figure = front(costs, scores, np.array([True, True, False, False]), "MACs", "score")
    (axes,) = figure.axes
    others, chosen = (np.asarray(dots.get_offsets()) for dots in axes.collections)
    assert others.tolist() == [[2, 3]]
    assert chosen.tolist() == [[1, 4], [3, 9]]
    assert axes.lines[0].get_drawstyle() == "steps-post"
    assert axes.get_title(loc="left") == "3 networks"


def test_what_is_no_line_is_not_joined() -> None:
    """With several costs, a network may be on the front for one that the figure does not show."""
    figure = front(np.array([1.0, 2.0]), np.array([5.0, 4.0]), np.array([True, True]), "MACs", "score")
    assert len(figure.axes[0].lines) == 0
    with pytest.raises(SettingError, match="nothing to draw"):
        front(np.array([np.nan]), np.array([1.0]), np.array([True]), "MACs", "score")


def test_a_surface_shows_what_was_asked() -> None:
    answers = [
        {"architecture": "a", "u": 0.1, "exponent": -1.0, "reached": 90.0},
        {"architecture": "b", "u": 0.7, "exponent": -2.0, "reached": 93.0},
        {"architecture": "c", "u": 0.2, "exponent": -3.0, "reached": None},
    ]
    grid = {"u": [0.0, 0.5, 1.0], "exponents": [-4.0, -2.0, 0.0], "surface": [[90, 91, 90], [91, 93, 92], [90, 91, 90]]}
    axes = surface({"answers": answers, **grid}).axes[0]
    assert np.asarray(axes.collections[-1].get_offsets()).tolist() == [[0.1, -1], [0.7, -2]]
    ring = axes.lines[0]
    assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([0.7], [-2.0])
    with pytest.raises(SettingError, match="has not ended"):
        surface({"answers": answers})


def test_many_lines_are_told_apart() -> None:
    entries = [Curve(f"method {number}", [(1, number, 0), (2, number, 0)], 1) for number in range(16)]
    lines = curves(entries, "queries", "accuracy").axes[0].lines
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 16  # type: ignore[attr-defined]


def test_a_single_point_can_be_seen() -> None:
    (line,) = curves([Curve("nasi", [(1, 10, 0)], 1)], "networks", "score").axes[0].lines
    assert line.get_marker() == "o"


def test_where_nothing_is_chosen_there_is_no_word_of_it() -> None:
    figure = front(np.array([1.0, 2.0]), np.array([5.0, 4.0]), np.array([False, False]), "MACs", "score")
    assert figure.axes[0].get_legend() is None
