"""Charts of searches: progress, score against cost, and what HNAS expects of its two numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.core.errors import StoreError
from firstlight.options import UNITS
from firstlight.search.curves import Against, Curve
from firstlight.views.charts.description import Line, Lines, Point, Scatter, Surface

QUERY_LABELS: dict[Against, str] = {"queries": "queries", "seconds": "seconds of training"}
SEARCH_LABELS: dict[Against, str] = {"queries": "networks", "seconds": "seconds of search"}


def progress_lines(curves: Sequence[Curve], x_label: str, y_label: str) -> Lines:
    """Describe the best so far: a line for each method, and a band of one standard deviation over its seeds."""
    lines = [
        Line(
            curve.name,
            [(x, mean) for x, mean, _ in curve.points],
            [deviation for *_, deviation in curve.points] if curve.seeds > 1 else (),
        )
        for curve in curves
    ]
    seeds = {curve.seeds for curve in curves}
    title = ""
    if seeds - {1}:
        count = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
        title = f"mean ± standard deviation over {count} seeds"
    return Lines(x_label, y_label, lines, title=title)


def cost_scatter(
    cost: str,
    amounts: Sequence[float],
    utilities: Sequence[float],
    chosen: Sequence[bool],
    utility_label: str,
    *,
    rows: Sequence[int] | None = None,
) -> Scatter:
    """Describe the score of each network against a cost.

    Args:
        cost: Name of the cost, such as `params`.
        amounts: What each network costs. Networks without a finite cost and score are left out.
        utilities: The score of each network, higher being better.
        chosen: Which networks stand out: the front, or the best one.
        utility_label: What the score is called.
        rows: For each network, its row in the page's table.

    Returns:
        The chart. A front is joined by stairs, unless it has several costs and is not a line.
    """
    places = zip(amounts, utilities, chosen, rows or itertools.repeat(None), strict=False)
    points = [
        Point(float(x), float(y), chosen=bool(stands_out), row=row)
        for x, y, stands_out, row in places
        if math.isfinite(x) and math.isfinite(y)
    ]
    front = sorted((point.x, point.y) for point in points if point.chosen)
    is_line = len(front) > 1 and all(y <= later for (_, y), (_, later) in itertools.pairwise(front))
    return Scatter(
        UNITS[cost],
        utility_label,
        points,
        title=f"{len(points):,}{f' of {len(amounts):,}' if len(points) < len(amounts) else ''} networks",
        line=Line("front", front, is_stairs=True) if is_line else None,
        chosen_name="front" if len(front) > 1 else "chosen",
    )


def hnas_surface(findings: Mapping[str, Any]) -> Surface:
    """Describe the accuracy that HNAS expects for each pair of its two numbers, and what it tried.

    Args:
        findings: What a finished search by HNAS found, under `hnas`.

    Returns:
        The chart, on which the best query stands out.

    Raises:
        StoreError: If the findings are damaged.
    """
    answers = _answers(findings)
    try:
        xs, ys = list(map(float, findings["u"])), list(map(float, findings["exponents"]))
        values = [list(map(float, row)) for row in findings["surface"]]
        if len(values) != len(ys) or {len(row) for row in values} != {len(xs)}:
            raise ValueError("the surface does not fit its axes")
    except (LookupError, TypeError, ValueError) as error:
        raise _damaged(error) from error
    points = [_point(number, answer, answer["u"], answer["exponent"], answers) for number, answer in answers]
    x_label, y_label = "preferred value of the proxy (u)", "weight of the preference (log10 mu)"
    return Surface(x_label, y_label, "expected accuracy, %", xs, ys, values, points)


def hnas_progress(findings: Mapping[str, Any]) -> Scatter:
    """Describe the accuracy of each query of HNAS, and the best so far."""
    answers = _answers(findings)
    points = [_point(number, answer, number, answer["reached"], answers) for number, answer in answers]
    return Scatter("query", "validation accuracy, %", points, with_record=True, noun="queries")


def _answers(findings: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Queries that were answered, with their number."""
    try:
        found: list[tuple[int, Mapping[str, Any]]] = []
        for number, answer in enumerate(findings["answers"], start=1):
            if answer["reached"] is not None:
                figures = {name: float(answer[name]) for name in ("u", "exponent", "reached")}
                found.append((number, {**figures, "architecture": str(answer["architecture"])}))
    except (LookupError, TypeError, ValueError) as error:
        raise _damaged(error) from error
    return found


def _point(
    number: int, answer: Mapping[str, Any], x: float, y: float, answers: Sequence[tuple[int, Mapping[str, Any]]]
) -> Point:
    best, _ = max(answers, key=lambda entry: entry[1]["reached"])
    tooltip = (
        f"query {number}: {answer['reached']:.2f}%\nu {answer['u']:.2f}, mu 10^{answer['exponent']:.2f}\n"
        f"{answer['architecture']}"
    )
    return Point(float(x), float(y), tooltip, chosen=number == best, value=answer["reached"])


def _damaged(error: Exception) -> StoreError:
    return StoreError(
        f"The findings of the search are damaged ({type(error).__name__}: {error!s:.80}). Run the search again; "
        "nothing is computed twice."
    )
