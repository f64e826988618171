"""The report of a comparison: what each method found, against queries and seconds."""

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
from firstlight.core.wording import counted, enumerated
from firstlight.evaluation.compare import Comparison, Row
from firstlight.storage.environment import versions
from firstlight.tables.targets import Target
from firstlight.views.charts.searches import QUERY_LABELS, progress_lines
from firstlight.views.charts.svg import draw_svg
from firstlight.views.pages.template import render_page


def write_comparison(found: Comparison, settings: Mapping[str, Any], directory: Path) -> Path:
    """Write the page, the rows as JSON and CSV, and every query of every run; return the path of the page."""
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
    """Return the headers of the table, for the console and the page."""
    regret = [] if found.best is None else ["regret"]
    ahead = [f"ahead of {found.labels[found.against]}"] if found.against else []
    counts = ["queries"] if found.within else []
    return ["method", "after", *counts, *found.report, *regret, *ahead, "best value", "seconds"]


def cells(found: Comparison, row: Row) -> list[str]:
    """Return a row of the table. The best value has its epochs where methods differ in them."""
    queries = [f"{row.queries.mean:,.1f}"] if found.within else []
    epochs = f" ({'/'.join(map(str, row.epochs))} epochs)" if row.epochs else ""
    spent = row.seconds.mean
    seconds = "-" if math.isnan(spent) else f"{spent:,.0f}" if spent >= 10 else f"{spent:.2g}"
    regret = [] if row.regret is None else [str(row.regret)]
    ahead = ["-" if row.ahead is None else str(row.ahead)] if found.against else []
    figures = [*map(str, row.figures.values()), *regret, *ahead]
    return [found.labels[row.method], row.point, *queries, *figures, f"{row.value}{epochs}", seconds]


def notes(found: Comparison) -> list[str]:
    """Return what a reader must know about the table."""
    seeds = max(len(runs) for runs in found.runs.values())
    deviation = " ± standard deviation" if seeds > 1 else ""
    costs = f"Seconds of training: {found.seconds}." if found.seconds else ""
    settings = [f"{label} stands for {method}." for method, label in found.labels.items() if method != label]
    return [
        f"Mean{deviation} over {counted(seeds, 'seed')}, of the best network of each search.",
        *(
            []
            if found.best is None
            else [f"Regret: the best {found.report[0]} of the table minus that of the network."]
        ),
        *([f"Ahead: {found.report[0]}, seed by seed, with its 95% interval."] if found.against else []),
        *settings,
        *filter(None, [costs]),
        *found.remarks,
    ]


def comparison_page(found: Comparison, settings: Mapping[str, Any]) -> str:
    """Render the page of a comparison."""
    return render_page(
        "comparison.html",
        headline=_headline(found),
        subtitle=", ".join(map(str, filter(None, (settings["space"], settings.get("table"), _seeds(found))))),
        settings=settings,
        versions=versions(),
        headers=headers(found),
        rows=[cells(found, row) for row in found.rows],
        notes=notes(found),
        figures=[(name, Target.of_column(name), _charts(found, name)) for name in found.report],
    )


def _headline(found: Comparison) -> str:
    """Say which method is ahead in the end."""
    column = found.report[0]
    last = [row for row in found.rows if row.point == f"{found.queries[-1]} queries"]
    known = [row for row in last if not math.isnan(row.figures[column].mean)]
    best = max(known, key=lambda row: row.figures[column].mean, default=None)
    if best is None:
        return "No method found a network"
    of = f"Best of {len(found.runs)} methods" if len(found.runs) > 1 else "One method"
    return f"{of} after {best.point}: {found.labels[best.method]}, {column} {best.figures[column]}"


def _seeds(found: Comparison) -> str:
    counts = sorted({len(runs) for runs in found.runs.values()})
    return f"{enumerated([str(count) for count in counts])} seed{'s' * (counts != [1])} for each method"


def _charts(found: Comparison, column: str) -> list[Markup]:
    charts = []
    for against, x_label in QUERY_LABELS.items():
        curves = [replace(curve, name=found.labels[curve.name]) for curve in found.curves(column, against)]
        if curves:
            charts.append(draw_svg(progress_lines(curves, x_label, column)))
    return charts
