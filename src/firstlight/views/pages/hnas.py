"""What HNAS has learned about its two numbers, for the report of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from firstlight.views.charts.searches import hnas_progress, hnas_surface
from firstlight.views.charts.svg import draw_svg


@dataclass(frozen=True)
class HnasCharts:
    """The charts of HNAS; `expected` and its range `span` are empty until the search has finished."""

    answers: int
    reached: Markup
    expected: Markup
    span: str


def hnas_charts(findings: Mapping[str, Any]) -> HnasCharts:
    """Draw what a search found under `hnas`."""
    expected, span = Markup(), ""
    if "surface" in findings:
        surface = hnas_surface(findings)
        heights = [value for row in surface.values for value in row]
        span = f"{min(heights):.2f}% to {max(heights):.2f}%"
        expected = draw_svg(surface)
    return HnasCharts(len(findings["answers"]), draw_svg(hnas_progress(findings)), expected, span)
