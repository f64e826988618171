"""The report of a comparison: what each method has found, against queries and against seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from markupsafe import Markup

from firstlight._version import __version__
from firstlight.errors import StoreError
from firstlight.evaluate.compare import Comparison, Row, Run, Spread
from firstlight.evaluate.targets import Target
from firstlight.report.charts.lines import Band, bands
from firstlight.report.template import render_page
from firstlight.run.environment import versions

# At how many places a line against seconds is drawn
PLACES = 60
# Before this share of the queries, the best networks are so poor that nothing else would be seen
FIRST_SHARE = 0.1


def write_comparison(found: Comparison, settings: Mapping[str, Any], directory: Path) -> Path:
    """The page, the rows as JSON and CSV, and every query of every run, in the comparison's folder."""
    path = directory / "report.html"
    content = {"settings": dict(settings), "version": __version__, **found.as_json()}
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
    against_queries = _bands(found, column, _counts, lambda run, count: run.after(int(count)))
    charts = [bands(against_queries, "queries", column)] if against_queries else []
    if found.seconds and (against_seconds := _bands(found, column, _moments, Run.within)):
        charts.append(bands(against_seconds, "seconds of training", column))
    return charts


def _bands(
    found: Comparison,
    column: str,
    places: Callable[[Comparison, Sequence[Run]], Sequence[float]],
    asked: Callable[[Run, float], int],
) -> list[Band]:
    """One for each method: mean and deviation over the runs at each place, where all of them have a network."""
    entries = []
    for method, runs in found.runs.items():
        points = []
        for place in places(found, runs):
            counts = [asked(run, place) for run in runs]
            best = [run.incumbents[n - 1] if n else None for run, n in zip(runs, counts, strict=True)]
            spread = Spread.of([found.figure(query, column) for query in best])
            if not math.isnan(spread.mean):
                points.append((place, spread.mean, spread.deviation or 0.0))
        if points:
            entries.append(Band(found.labels[method], points))
    return entries


def _first(found: Comparison) -> int:
    return min(found.queries[0], math.ceil(FIRST_SHARE * found.queries[-1]))


def _counts(found: Comparison, runs: Sequence[Run]) -> Sequence[float]:
    return range(_first(found), found.queries[-1] + 1)


def _moments(found: Comparison, runs: Sequence[Run]) -> Sequence[float]:
    """From when all runs have made the first queries that are drawn, to when the average run was over."""
    spent = [run.elapsed for run in runs if run.elapsed]
    if not spent or any(math.isnan(times[-1]) for times in spent):
        return []
    start = max(times[min(_first(found), len(times)) - 1] for times in spent)
    end = max(start, fmean(times[-1] for times in spent))
    return [start + (end - start) * step / (PLACES - 1) for step in range(PLACES)]
