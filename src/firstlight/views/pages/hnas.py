"""What HNAS has learned about its two numbers, for the report of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from firstlight.core.wording import counted
from firstlight.views.charts.searches import hnas_progress, hnas_surface
from firstlight.views.charts.svg import draw_svg


@dataclass(frozen=True)
class HnasCharts:
    """The charts of HNAS, and what it learned; `expected` and `span` are empty until the search has finished."""

    answers: int
    learned: list[str]
    reached: Markup
    expected: Markup
    span: str


def in_words(findings: Mapping[str, Any]) -> list[str]:
    """Say what the queries taught, for readers who do not know the method."""
    answers = [(number, answer) for number, answer in enumerate(findings["answers"], start=1)]
    known = [(number, answer) for number, answer in answers if answer["reached"] is not None]
    if not known:
        return ["No training has finished with an accuracy yet."]
    best_number, best = max(known, key=lambda entry: float(entry[1]["reached"]))
    first = float(known[0][1]["reached"])
    gain = float(best["reached"]) - first
    lines = [
        f"{counted(len(known), 'network')} {'was' if len(known) == 1 else 'were'} trained briefly, each picked by a "
        f"preference that the results of the earlier ones suggested. The best reached {float(best['reached']):.2f}% "
        f"(query {best_number}), "
        + (f"{gain:.2f} points more than the first." if gain > 0 else "and no later one was better than the first.")
    ]
    u, weight = float(best["u"]), float(best["exponent"])
    size = "small" if u < 1 / 3 else "medium" if u < 2 / 3 else "large"
    matters = "hardly" if weight < -8 / 3 else "somewhat" if weight < -4 / 3 else "strongly"
    lines.append(
        f"The preference that found it: networks with a {size} value of the proxy (u = {u:.2f}, from 0, small, to 1, "
        f"large). It counted {matters} (mu = 10^{round(weight, 1) + 0.0:.1f}) beside the other aim, a network "
        "that learns all directions at a similar speed (a small condition number)."
    )
    return lines


def hnas_charts(findings: Mapping[str, Any]) -> HnasCharts:
    """Draw what a search found under `hnas`."""
    expected, span = Markup(), ""
    if "surface" in findings:
        surface = hnas_surface(findings)
        heights = [value for row in surface.values for value in row]
        span = f"{min(heights):.2f}% to {max(heights):.2f}%"
        expected = draw_svg(surface)
    return HnasCharts(len(findings["answers"]), in_words(findings), draw_svg(hnas_progress(findings)), expected, span)
