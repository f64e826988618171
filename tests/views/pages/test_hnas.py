"""What HNAS has learned, in its report."""

from __future__ import annotations

from firstlight.views.pages.hnas import hnas_charts, in_words

ANSWERS = [
    {"u": 0.0, "exponent": -2.0, "architecture": "a<b>", "reached": 90.0},
    {"u": 1.0, "exponent": -2.0, "architecture": "failed", "reached": None},
    {"u": 0.5, "exponent": -1.0, "architecture": "c", "reached": 91.5},
]
SURFACE = {"u": [0.0, 1.0], "exponents": [-4.0, 0.0], "surface": [[1.0, 2.0], [3.0, 4.0]]}


def test_answers_over_queries_and_on_the_surface() -> None:
    charts = hnas_charts({"answers": ANSWERS, **SURFACE})
    assert charts.answers == 3
    for chart in (charts.reached, charts.expected):
        assert chart.count("<circle") == 2  # a training that failed has no place
        assert "query 3: 91.50%" in chart
        assert "u 0.50, mu 10^-1.00" in chart
        assert "a&lt;b&gt;" in chart
        assert chart.count("dot chosen") == 1


def test_while_the_search_goes_on_nothing_is_expected_yet() -> None:
    assert not hnas_charts({"answers": ANSWERS}).expected


def test_what_was_learned_is_said_in_words() -> None:
    trained, preference = hnas_charts({"answers": ANSWERS, **SURFACE}).learned
    assert trained.startswith("2 networks were trained briefly")
    assert "The best reached 91.50% (query 3), 1.50 points more than the first." in trained
    assert "a medium value of the proxy (u = 0.50" in preference
    assert "It counted strongly (mu = 10^-1.0)" in preference
    assert in_words({"answers": [ANSWERS[1]]}) == ["No training has finished with an accuracy yet."]
