"""What HNAS has learned about its two numbers, as charts of a search's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from firstlight.views.charts.scatter import Point, scatter
from firstlight.views.charts.surface import surface


@dataclass(frozen=True)
class HnasCharts:
    """`expected`, and what lowest and highest it shows, are empty while the search goes on."""

    answers: int
    reached: Markup
    expected: Markup
    span: str


def hnas_charts(found: Mapping[str, Any], chosen: str | None) -> HnasCharts:
    """`found` is what a search leaves as its findings under `hnas`."""
    answers = [
        (number, answer) for number, answer in enumerate(found["answers"], start=1) if answer["reached"] is not None
    ]
    words = {
        number: f"query {number}: {answer['reached']:.2f} %\nu {answer['u']:.2f}, mu 10^{answer['exponent']:.2f}\n"
        f"{answer['architecture']}"
        for number, answer in answers
    }
    over_queries = [
        Point(number, answer["reached"], words[number], chosen=answer["architecture"] == chosen)
        for number, answer in answers
    ]
    on_surface = [
        Point(answer["u"], answer["exponent"], words[number], chosen=answer["architecture"] == chosen)
        for number, answer in answers
    ]
    expected, span = Markup(), ""
    if "surface" in found:
        heights = [value for row in found["surface"] for value in row]
        span = f"from {min(heights):.2f} to {max(heights):.2f} %"
        expected = surface(found["u"], found["exponents"], found["surface"], on_surface, "u", "exponent of mu")
    reached = scatter(over_queries, "query", "validation accuracy, %", record=True, of="queries")
    return HnasCharts(len(found["answers"]), reached, expected, span)
