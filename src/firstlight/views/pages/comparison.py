"""The report of a comparison: what each method has found, against queries and against seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from firstlight._version import __version__
from firstlight.core.errors import StoreError
from firstlight.evaluation.compare import Comparison, Row
from firstlight.storage.environment import versions
from firstlight.tables.targets import Target
from firstlight.views.charts.searches import QUERY_LABELS, progress_lines
from firstlight.views.charts.svg import draw_svg
from firstlight.views.pages.template import render_page


def write_comparison(found: Comparison, settings: Mapping[str, Any], directory: Path) -> Path:
    """The page, the rows as JSON and CSV, and every query of every run, in the comparison's folder."""
    path = directory / "report.html"
    content = {"settings": dict(settings), "version": __version__, **found.to_dict()}
    try:
        (directory / "result.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        found.table().to_csv(directory / "comparison.csv", index=False)
        found.log().to_csv(directory / "queries.csv", index=False)
        path.write_text(comparison_page(found, settings), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be written to: {error}. Name another with --out.") from error
    return path


def headers(found: Comparison) -> list[str]:
    """Of the table, for the terminal and the page."""
    return ["method", "after", *(["queries"] if found.within else []), *found.report, "searched by", "seconds"]


def cells(found: Comparison, row: Row) -> list[str]:
    """A line of it. What a network was chosen by is said with its epochs where methods differ in them."""
    queries = [f"{row.queries.mean:,.1f}"] if found.within else []
    epochs = f" ({'/'.join(map(str, row.epochs))} epochs)" if row.epochs else ""
    spent = row.seconds.mean
    seconds = "-" if math.isnan(spent) else f"{spent:,.0f}" if spent >= 10 else f"{spent:.2g}"
    figures = map(str, row.figures.values())
    return [found.labels[row.method], row.point, *queries, *figures, f"{row.value}{epochs}", seconds]


def notes(found: Comparison) -> list[str]:
    seeds = max(len(runs) for runs in found.runs.values())
    deviation = ", ± their standard deviation" if seeds > 1 else ""
    costs = f"Seconds of training are {found.seconds}." if found.seconds else ""
    settings = [f"{label} stands for {method}." for method, label in found.labels.items() if method != label]
    return [
        f"Means over {seeds} seed{'s' * (seeds != 1)}{deviation}, of the network that was the best of its search.",
        *settings,
        *filter(None, [costs]),
        *found.remarks,
    ]


def comparison_page(found: Comparison, settings: Mapping[str, Any]) -> str:
    column = found.report[0]
    last = [row for row in found.rows if row.point == f"{found.queries[-1]} queries"]
    known = [row for row in last if not math.isnan(row.figures[column].mean)]
    best = max(known, key=lambda row: row.figures[column].mean, default=None)
    asked = f"Asked which of {len(found.runs)} method{'s' * (len(found.runs) != 1)} finds the best network of "
    answer = (
        f"after {best.point}, {found.labels[best.method]} is ahead, with {column} {best.figures[column]}"
        if best
        else "none has found any"
    )
    return render_page(
        "comparison.html",
        headline=f"{asked}{settings['space']}: {answer}.",
        settings=settings,
        versions=versions(),
        headers=headers(found),
        rows=[cells(found, row) for row in found.rows],
        notes=notes(found),
        figures=[(name, Target.of_column(name), _charts(found, name)) for name in found.report],
    )


def _charts(found: Comparison, column: str) -> list[Markup]:
    charts = []
    for against, x_label in QUERY_LABELS.items():
        curves = [replace(curve, name=found.labels[curve.name]) for curve in found.curves(column, against)]
        if curves:
            charts.append(draw_svg(progress_lines(curves, x_label, column)))
    return charts
