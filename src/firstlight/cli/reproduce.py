"""`firstlight reproduce`: published tables, measured again on the data at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.cli.options import (
    AddressOption,
    ExecutorOption,
    Json,
    SameVersionsOption,
    SkeletonOption,
    WorkersOption,
    choose_executor,
    read_pairs,
    read_seeds,
    resumable,
)

if TYPE_CHECKING:
    from firstlight.papers.runner import Outcome


def reproduce(
    name: Annotated[str | None, typer.Argument(help="The experiment; without one, all are listed.")] = None,
    samples: Annotated[
        int | None,
        typer.Option(help="Networks, steps of each search, or images of a batch; default: some for minutes."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where tables and images are; default: $FIRSTLIGHT_DATA.")
    ] = None,
    input: Annotated[
        str | None, typer.Option("--input", help="What networks are shown; default: cifar10 if there, else synthetic.")
    ] = None,
    seed: Annotated[
        str, typer.Option(metavar="S[,S]...", help="Decides weights, inputs and sample; several give mean and spread.")
    ] = "0",
    skeleton: SkeletonOption = "",
    warmup: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE[,SHARE]...",
            help="What networks are trained with before they are looked at, where an experiment does so; one or "
            "several as in 0,10%,40%:epochs=10. Default: those of the experiment.",
        ),
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    out: Annotated[
        Path, typer.Option(help="Folder that keeps all scores and findings; experiments share what they measure.")
    ] = Path("runs/reproduce"),
    same_versions: SameVersionsOption = False,
    as_json: Json = False,
) -> None:
    """Run the experiment behind a published table or figure, and say whether ours agrees.

    Scores are kept in the folder: asking again, or for more networks, computes only what is new.

    Example: firstlight reproduce

    Example: firstlight reproduce dextr-table4 --samples 200
    """
    from firstlight.papers import EXPERIMENTS
    from firstlight.papers.runner import reproduce

    if name is None:
        _list(data, as_json)
        return
    from firstlight.views.console import console, counting

    experiment = EXPERIMENTS[name]
    with resumable(out), counting("measuring") as progress:
        outcome = reproduce(
            experiment,
            data=data,
            samples=samples,
            input=input,
            seed=read_seeds(seed),
            skeleton=dict(read_pairs(skeleton)),
            warmup=warmup,
            executor=choose_executor(workers, executor, address, experiment.samples if samples is None else samples),
            out=out,
            same_versions=same_versions,
            watch=progress,
        )
    if as_json:
        typer.echo(json.dumps(outcome.to_dict()))
        return
    _show(outcome)
    console.print(f"\nPage, findings and scores: {out / name}.html, .json, store.sqlite", markup=False, soft_wrap=True)


def _show(outcome: Outcome) -> None:
    from firstlight.papers.page import HEADERS, cells, rule, summary
    from firstlight.views.console import console, show_figures

    experiment = outcome.experiment
    console.print(f"{experiment.published_in}: {experiment.shows}.\n", markup=False, soft_wrap=True)
    show_figures(HEADERS, (cells(finding) for finding in outcome.findings.lines), *HEADERS)
    console.print(f"\n{summary(outcome)}.", markup=False, soft_wrap=True)
    for text in (rule(outcome), *outcome.findings.remarks):
        console.print(text, markup=False, soft_wrap=True)
    settings = "; ".join(f"{name}: {value}" for name, value in outcome.settings.items())
    console.print(f"Settings: {settings}.", markup=False, soft_wrap=True)
    for name, reason in outcome.missing.items():
        console.print(f"Not run: {name} needs {reason}.", markup=False, soft_wrap=True)


def _list(data: Path | None, as_json: bool) -> None:
    from firstlight.papers import EXPERIMENTS
    from firstlight.papers.runner import missing_parts, shelf_in
    from firstlight.views.console import console, show_table

    shelf = shelf_in(data)
    entries: list[dict[str, Any]] = []
    for experiment in EXPERIMENTS.values():
        missing = missing_parts(experiment, shelf)
        parts = [benchmark.name for benchmark in experiment.needs]
        runs = "yes" if not missing else "not yet" if len(missing) == len(parts) else "in part"
        entries.append(
            {
                "name": experiment.name,
                "published_in": experiment.published_in,
                "paper": experiment.citation,
                "shows": experiment.shows,
                "samples": experiment.samples,
                "needs": parts,
                "runs": runs,
                "missing": missing,
            }
        )
    if as_json:
        typer.echo(json.dumps(entries))
        return
    show_table(
        ("experiment", "runs now", "published in", "what it shows"),
        ((entry["name"], entry["runs"], entry["published_in"], entry["shows"]) for entry in entries),
    )
    lacking: dict[str, list[str]] = {}
    for entry in entries:
        for name, reason in entry["missing"].items():
            lacking.setdefault(f"{name} needs {reason}", []).append(entry["name"])
    if lacking:
        console.print("\nWhat is missing for the rest:")
    for text, names in lacking.items():
        console.print(f"  {text}. ({', '.join(names)})", markup=False, soft_wrap=True)
