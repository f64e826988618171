"""The report of a search: one HTML page that needs no network, made from the run's folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from firstlight.algorithms.result import front_of, front_over_time, settings_of_result, store_of_run
from firstlight.drawing.vector import draw
from firstlight.errors import StoreError
from firstlight.report.charts.lines import Line, lines
from firstlight.report.charts.scatter import Point, scatter
from firstlight.report.hnas import hnas_charts
from firstlight.report.one_shot import one_shot_charts
from firstlight.report.template import render_page
from firstlight.run.costs import UNITS, written
from firstlight.run.records import Run, Trial
from firstlight.run.store import Store
from firstlight.spaces import SPACES, Drawing

PAGE_NAME = "report.html"
BEST_ROWS = 20
FRONT_ROWS = 60
# More than these make a page slow
MOST_DOTS = 3000


def write_report(directory: Path) -> Path:
    """Write `report.html` into the run's folder and return its path; a run still going on is shown as far as it is."""
    path = store_of_run(directory)
    if not path.is_file():
        raise StoreError(
            f"{directory} holds no run ({path.name} is missing). Give the folder named by `firstlight search --out`; "
            "with --store it can be reported when it has ended. `correlate`, `trust` and `compare` write their "
            "report.html themselves."
        )
    with Store(path) as store:
        runs = store.runs()
        if not runs:
            raise StoreError(
                f"The store {path} holds no run yet. Start one with `firstlight search ... --out {directory}`."
            )
        run = _last_finished(directory, runs)
        page = render(run, store.trials(run))
    target = directory / PAGE_NAME
    target.write_text(page, encoding="utf-8")
    return target


def _last_finished(directory: Path, runs: list[Run]) -> Run:
    """The run that the folder's result is of; while there is none, the last that was begun."""
    settings = settings_of_result(directory)
    return next((run for run in runs if run.settings == settings), runs[-1])


def _chosen(decided: str | None, ranking: list[Trial]) -> Trial | None:
    """An algorithm may decide for another one than the best that was scored, or for one that is yet to be scored."""
    if decided is None:
        return ranking[0] if ranking else None
    return next((trial for trial in ranking if trial.architecture == decided), None)


def render(run: Run, trials: list[Trial]) -> str:
    scored = [trial for trial in trials if trial.utility is not None]
    ranking = sorted(scored, key=lambda trial: (-(trial.utility or 0), trial.architecture))
    result = run.result or {}
    decided = result["best"]["architecture"] if result else None
    best = _chosen(decided, ranking)
    chosen = best.architecture if best else decided
    costs = tuple(filter(None, run.settings.get("objectives", "").split(",")))
    front = front_of(scored, costs) if costs else ()
    shown = _thinned(scored, ranking, front)
    findings = result.get("findings", {})
    steps, learned = findings.get("one_shot"), findings.get("hnas")
    drawing = _drawing(run.settings["space"], chosen) if chosen else None
    by_truth = "target" in run.settings or "training" in run.settings
    merit = "validation accuracy, %" if by_truth else run.settings["proxy"]
    return render_page(
        "search.html",
        run=run,
        trials=trials,
        best=best,
        chosen=chosen,
        ranking=ranking[:BEST_ROWS],
        without_score=len(trials) - len(scored),
        graph=draw(drawing) if drawing else "",
        against_costs=[_against_cost(cost, shown, front, best, merit) for cost in costs or ("params",)],
        over_time=scatter(_over_time(shown, best), "seconds of search", merit, record=True),
        shown=len(shown),
        scored=len(scored),
        costs=costs,
        front=front[:FRONT_ROWS],
        front_size=len(front),
        volume=lines([Line("front", front_over_time(scored, costs))], "networks scored", "hypervolume")
        if len(costs) in (1, 2) and front
        else "",
        seconds=max((trial.elapsed for trial in trials), default=result.get("seconds", 0.0)),
        parts={} if by_truth else _parts_of(best, run),
        one_shot=one_shot_charts(steps) if steps else None,
        hnas=hnas_charts(learned, chosen) if learned else None,
        by_truth=by_truth,
        retrained=result.get("retrained"),
    )


def _drawing(space_name: str, architecture: str) -> Drawing | None:
    """None for a space that is not registered: a page may be asked for of someone else's run, whose code is not run."""
    if space_name not in SPACES:
        return None
    space = SPACES[space_name]
    return space.drawing(space.parse(architecture))


def _thinned(scored: list[Trial], ranking: list[Trial], front: Sequence[Trial]) -> list[Trial]:
    """As many as a page can show: the best, the front, every one that was the best so far, and others evenly."""
    if len(scored) <= MOST_DOTS:
        return scored
    kept = {trial.architecture for trial in (*ranking[:BEST_ROWS], *front)}
    record = -math.inf
    for place, trial in enumerate(scored):
        if (trial.utility or 0.0) > record or place % (len(scored) // MOST_DOTS + 1) == 0:
            kept.add(trial.architecture)
        record = max(record, trial.utility or 0.0)
    return [trial for trial in scored if trial.architecture in kept]


def _against_cost(
    cost: str, trials: list[Trial], front: Sequence[Trial], best: Trial | None, proxy: str
) -> tuple[str, Markup]:
    """What the chart is about, and the chart: the front stands out, or else the best network."""
    chosen = {trial.architecture for trial in front} or {best.architecture if best else ""}
    points = [
        Point(trial.amount(cost), trial.utility or 0.0, _tooltip(trial), chosen=trial.architecture in chosen)
        for trial in trials
        if math.isfinite(trial.amount(cost))
    ]
    return UNITS[cost], scatter(points, UNITS[cost], proxy)


def _over_time(trials: list[Trial], best: Trial | None) -> list[Point]:
    return [Point(trial.elapsed, trial.utility or 0.0, _tooltip(trial), chosen=trial is best) for trial in trials]


def _tooltip(trial: Trial) -> str:
    amounts = {"params": trial.cost.params, "macs": trial.cost.macs, **trial.dear_costs}
    costs = ", ".join(written(name, amount) for name, amount in amounts.items())
    return f"{trial.architecture}\nscore {trial.utility:.4f}, {costs}"


def _parts_of(best: Trial | None, run: Run) -> dict[str, Any]:
    if best is None or run.result is None or run.result["best"]["architecture"] != best.architecture:
        return {}
    scores = run.result["best"].get("scores")  # a run that was killed has put by nothing but the architecture
    return dict(scores[run.settings["proxy"]]["parts"]) if scores else {}
