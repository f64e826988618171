"""The report of a search: one HTML page that opens offline, made from the folder of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from jinja2 import UndefinedError

from firstlight.core.errors import FirstlightError, StoreError
from firstlight.core.quoting import joined
from firstlight.core.wording import counted
from firstlight.options import UNITS
from firstlight.probe.stages import Stage
from firstlight.scoring.costs import written
from firstlight.search.result import front_of
from firstlight.search.run_folder import asks_truth, run_in, store_of_run, utility_name
from firstlight.spaces import SPACES
from firstlight.spaces.base import Drawing
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import Store
from firstlight.views.pages.blocks import draw_in_page, draw_stages
from firstlight.views.pages.headline import Progress, headline, score_of, subtitle
from firstlight.views.pages.hnas import hnas_charts
from firstlight.views.pages.networks import Column, Networks, digits_for
from firstlight.views.pages.one_shot import one_shot_charts
from firstlight.views.pages.search_charts import Drawn, against_cost, choose_drawn, front_growth, over_time
from firstlight.views.pages.template import render_page

PAGE_NAME = "report.html"
FRONT_ROWS = 60
# Rows of the table; with these, a page stays below 2 MB in every space
MOST_ROWS = 10_000
# Raised for values of an unexpected form
_MISFITS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, UndefinedError, ValueError)


def write_report(directory: Path) -> Path:
    """Write the report of a run into its folder.

    A search that is still running is shown as far as it is. `correlate`, `trust` and `compare` have written their
    report themselves when they finished, which is left as it is.

    Args:
        directory: The folder of the run.

    Returns:
        The path of the page, `report.html`.

    Raises:
        StoreError: If the folder holds no run, or a damaged one, or cannot be written to.

    Example:
        >>> from pathlib import Path
        >>> write_report(Path("runs/mine"))  # doctest: +SKIP
        PosixPath('runs/mine/report.html')
    """
    target, path = directory / PAGE_NAME, store_of_run(directory)
    if not path.is_file():
        raise StoreError(
            f"{directory} holds no run ({path.name} is missing). Give the folder named by `firstlight search --out`. A "
            "search with --store has a report only after it has finished."
        )
    with Store(path) as store:
        page = last_run_page(store, directory)
    if page is not None:
        try:
            target.write_text(page, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"The report {target} cannot be written: {error}.") from error
    elif not target.is_file():
        raise StoreError(
            f"The store {path} holds no run yet. Start one with `firstlight search ... --out {directory}`; "
            "`correlate`, `trust` and `compare` write their report.html themselves when they finish."
        )
    return target


def last_run_page(store: Store, directory: Path, *, live: str = "") -> str | None:
    """Return the page of the last search in the folder; None before one has begun."""
    run = run_in(store, directory)
    if run is None:
        return None
    trials = store.trials(run)
    try:
        return render(run, trials, live=live)
    except _MISFITS as error:  # a damaged file may hold anything
        raise StoreError(
            f"Run {run.id} of the store {store.path} cannot be shown: its settings or its result are damaged, or from "
            f"another version of Firstlight ({type(error).__name__}: {error!s:.80}). Run the same search "
            "again: it reuses all scores and rewrites the result. Or name a new folder."
        ) from error


def render(run: Run, trials: list[Trial], *, live: str = "") -> str:
    """Render the page of a search; `live` is the state that a served page shows."""
    scored = [trial for trial in trials if trial.utility is not None]
    ranking = sorted(scored, key=lambda trial: (-(trial.utility or 0), trial.architecture))
    result = run.result or {}
    decided = result["best"]["architecture"] if result else None
    best = _chosen(decided, ranking)
    chosen = best.architecture if best else decided
    costs = tuple(filter(None, run.settings.get("objectives", "").split(",")))
    front = front_of(scored, costs) if costs else ()
    drawn = choose_drawn(scored, ranking, front, charts=1 + max(1, len(costs)))
    findings = result.get("findings", {})
    steps, learned = findings.get("one_shot"), findings.get("hnas")
    percent = asks_truth(run.settings)
    score = Column("score", 2 if percent else digits_for(trial.utility or 0.0 for trial in scored))
    networks = _networks(ranking, drawn, score)
    rows = {str(row[-1]): place for place, row in enumerate(networks.rows)}
    named = utility_name(run)
    emphasized = {trial.architecture for trial in front} or {chosen or ""}
    drawing = _drawing(run, chosen) if chosen else None
    seconds = max((trial.elapsed for trial in trials), default=result.get("seconds", 0.0))
    progress = Progress(best, len(trials), len(front), len(steps["traces"]) if steps else 0)
    return render_page(
        "search.html",
        live=live,
        run=run,
        headline=_verdict(result) or headline(run, progress, costs),
        subtitle=subtitle(run, costs),
        trials=trials,
        best=best,
        chosen=chosen,
        facts=_facts(best, run, score, len(trials), seconds),
        graph=draw_in_page(drawing) if drawing else "",
        stages=draw_stages(_stages(result, chosen)),
        networks=networks if len(networks.rows) > 1 and not steps else None,  # with steps, scores decide nothing
        drawn=drawn,
        scored=len(scored),
        against_costs=[
            (UNITS[cost], against_cost(cost, drawn.trials, rows, emphasized, named)) for cost in costs or ("params",)
        ],
        over_time=over_time(drawn.trials, rows, best, named),
        costs=costs,
        front=front[:FRONT_ROWS],
        front_size=len(front),
        score=score,
        volume=front_growth(scored, costs) if len(costs) in (1, 2) and front else "",
        effort=result.get("effort") or f"{counted(len(trials), 'network')} in {seconds:,.1f} s.",
        parts={} if percent else _parts_of(best, run),
        one_shot=one_shot_charts(steps) if steps else None,
        hnas=hnas_charts(learned) if learned else None,
        retrained=result.get("retrained"),
        compared=result.get("compared"),
        commands_given=_commands(run, chosen),
        notes=result.get("notes", ()),
        versions=result.get("versions") or {"firstlight": run.version},
    )


def _verdict(result: dict[str, Any]) -> str:
    """Return the first words of the verdict where the search did not help, so that nobody overlooks it."""
    for name in ("retrained", "compared"):
        verdict = (result.get(name) or {}).get("verdict")
        if verdict and verdict["outcome"] != "better":
            return str(verdict["text"]).partition(" (")[0].partition(": ")[0]
    return ""


def _chosen(decided: str | None, ranking: list[Trial]) -> Trial | None:
    """Return the trial of the chosen network, which need not be the best one or scored yet; else the best so far."""
    if decided is None:
        return ranking[0] if ranking else None
    return next((trial for trial in ranking if trial.architecture == decided), None)


def _networks(ranking: Sequence[Trial], drawn: Drawn, score: Column) -> Networks:
    """Return the table of the best networks and of those that charts show."""
    best = ranking[:MOST_ROWS]
    known = {trial.architecture for trial in best}
    shown = [*best, *(trial for trial in drawn.trials if trial.architecture not in known)]
    expensive = list(
        dict.fromkeys(name for trial in shown for name in trial.expensive_costs if name not in ("params", "macs"))
    )
    columns = [
        Column("rank", 0),
        score,
        Column("params", 0),
        Column("MACs", 0),
        *(Column(name, 3 if name == "latency" else 0) for name in expensive),
        Column("found after (s)", 1),
        Column("architecture"),
    ]
    places = {trial.architecture: place for place, trial in enumerate(ranking, start=1)} if known else {}
    rows = [
        [
            places[trial.architecture],
            trial.utility,
            trial.amount("params"),
            trial.amount("macs"),
            *(trial.expensive_costs.get(name) for name in expensive),
            trial.elapsed,
            trial.architecture,
        ]
        for trial in shown
    ]
    return Networks(columns, rows)


def _facts(best: Trial | None, run: Run, score: Column, networks: int, seconds: float) -> dict[str, str]:
    known = {"networks": f"{networks:,}", "seconds": f"{seconds:,.1f}"}
    if best is None:
        return known
    expensive = {UNITS[name]: written(name, amount).split(" ")[0] for name, amount in best.expensive_costs.items()}
    if ends := ((run.result or {}).get("best", {}).get("cost") or {}).get("latency_ci"):
        expensive[UNITS["latency"]] += f" ({ends[0]:.3g} to {ends[1]:.3g})"
    costs = {"parameters": f"{best.amount('params'):,.0f}", "MACs for one input": f"{best.amount('macs'):,.0f}"}
    name = utility_name(run).removeprefix("-")
    reached = {} if name == "params" else {name: score.written(score_of(best.utility, run))}
    return {**reached, **costs, **expensive, **known}


def _drawing(run: Run, architecture: str) -> Drawing | None:
    """Return the drawing of an architecture: a stored one if the space is not registered, whose code must not run."""
    space_name, result = run.settings["space"], run.result or {}
    if space_name not in SPACES:
        known = result.get("drawing")
        return _stored_drawing(known) if known and result["best"]["architecture"] == architecture else None
    space = SPACES[space_name]
    try:
        return space.drawing(space.parse(architecture))
    except FirstlightError:  # the space has changed since
        return None


def _stored_drawing(known: dict[str, Any]) -> Drawing:
    edges = tuple((int(start), int(end), str(label)) for start, end, label in known["edges"])
    forms: dict[str, Literal["graph", "chain", "stack"]] = {"chain": "chain", "stack": "stack"}
    return Drawing(tuple(map(str, known["nodes"])), edges, forms.get(known["form"], "graph"))


def _stages(result: dict[str, Any], chosen: str | None) -> list[Stage]:
    """Return the stages of the chosen network; none if an older version wrote the result."""
    known = result.get("stages", ()) if result and result["best"]["architecture"] == chosen else ()
    return [Stage.from_dict(stage) for stage in known]


def _parts_of(best: Trial | None, run: Run) -> dict[str, Any]:
    if best is None or run.result is None or run.result["best"]["architecture"] != best.architecture:
        return {}
    scores = run.result["best"].get("scores")  # a run that was killed has stored only the architecture
    return dict(scores[run.settings["proxy"]]["parts"]) if scores else {}


def _commands(run: Run, chosen: str | None) -> list[str]:
    """Return commands to continue with; an interrupted run has only the first."""
    if chosen is None:
        return []
    show = joined(["show", run.settings["space"], chosen])
    return [f"firstlight {words}" for words in (show, *(run.result or {}).get("next_steps", ()))]
