"""The report of a search: one HTML page that needs no network, made from the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.drawing.vector import draw
from firstlight.errors import FirstlightError, StoreError
from firstlight.report.charts import Point, scatter
from firstlight.report.template import render_page
from firstlight.run.store import STORE_NAME, Run, Store, Trial
from firstlight.spaces import Drawing, find_space

PAGE_NAME = "report.html"
BEST_ROWS = 20


def write_report(directory: Path) -> Path:
    """Write `report.html` into the run's folder and return its path; a run still going on is shown as far as it is."""
    path = directory / STORE_NAME
    if not path.is_file():
        raise StoreError(
            f"{directory} holds no run ({STORE_NAME} is missing). Give the folder named by `firstlight search --out`; "
            "`correlate` and `trust` write their report.html themselves."
        )
    with Store(path) as store:
        runs = store.runs()
        if not runs:
            raise StoreError(
                f"The store {path} holds no run yet. Start one with `firstlight search ... --out {directory}`."
            )
        run = runs[-1]
        page = render(run, store.trials(run))
    target = directory / PAGE_NAME
    target.write_text(page, encoding="utf-8")
    return target


def render(run: Run, trials: list[Trial]) -> str:
    scored = [trial for trial in trials if trial.utility is not None]
    ranking = sorted(scored, key=lambda trial: (-(trial.utility or 0), trial.architecture))
    best = ranking[0] if ranking else None
    drawing = _drawing(run.settings["space"], best.architecture) if best else None
    return render_page(
        "search.html",
        run=run,
        trials=trials,
        best=best,
        ranking=ranking[:BEST_ROWS],
        without_score=len(trials) - len(scored),
        graph=draw(drawing) if drawing else "",
        against_params=scatter(_against_params(scored, best), "parameters", run.settings["proxy"]),
        over_time=scatter(_over_time(scored, best), "seconds of search", run.settings["proxy"], record=True),
        seconds=max((trial.elapsed for trial in trials), default=0.0),
        parts=_parts_of(best, run),
    )


def _drawing(space_name: str, architecture: str) -> Drawing | None:
    try:
        space = find_space(space_name)
    except FirstlightError:  # a space of the user's own that is not at hand here
        return None
    return space.drawing(space.parse(architecture))


def _against_params(trials: list[Trial], best: Trial | None) -> list[Point]:
    return [Point(trial.cost.params, trial.utility or 0.0, _tooltip(trial), chosen=trial is best) for trial in trials]


def _over_time(trials: list[Trial], best: Trial | None) -> list[Point]:
    return [Point(trial.elapsed, trial.utility or 0.0, _tooltip(trial), chosen=trial is best) for trial in trials]


def _tooltip(trial: Trial) -> str:
    return (
        f"{trial.architecture}\nscore {trial.utility:.4f}, {trial.cost.params:,} parameters, {trial.cost.macs:,} MACs"
    )


def _parts_of(best: Trial | None, run: Run) -> dict[str, Any]:
    if best is None or run.result is None or run.result["best"]["architecture"] != best.architecture:
        return {}
    parts: dict[str, Any] = run.result["best"]["scores"][run.settings["proxy"]]["parts"]
    return parts
