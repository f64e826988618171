"""`firstlight correlate`: how well proxies rank networks whose accuracy is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from firstlight.cli.options import (
    AddressOption,
    BatchesOption,
    BatchOption,
    DeviceOption,
    ExecutorOption,
    InputOption,
    Json,
    LabelsOption,
    ProxyOption,
    RepeatsOption,
    SameVersionsOption,
    SkeletonOption,
    TimeoutOption,
    WarmUpOption,
    WorkerMemoryOption,
    WorkersOption,
    choose_executor,
    read_pairs,
    read_seeds,
    resumable,
)
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.evaluation.correlate import Study


def correlate(
    space: Annotated[str, typer.Argument(help="The search space that the table is of; see `firstlight spaces`.")],
    table: Annotated[
        Path, typer.Option(metavar="FILE", help="Trained networks: a .parquet or .csv; see `firstlight table`.")
    ],
    target: Annotated[
        str | None, typer.Option(help="The table's column to compare with, or several, separated by commas.")
    ] = None,
    proxy: ProxyOption = "dextr",
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="N|all", help="How many networks to draw at random; default: 300, or all if there are fewer."
        ),
    ] = None,
    first: Annotated[
        int | None, typer.Option(help="Take the first so many rows instead, as some papers do.", min=1)
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Score every network, also those that compute the same function as another."),
    ] = False,
    ensemble: Annotated[
        bool,
        typer.Option(
            "--ensemble", help="Also choose up to four proxies on one half of the networks, judge on the other."
        ),
    ] = False,
    input: InputOption = "synthetic",
    labels: LabelsOption = "true",
    batch_size: BatchOption = None,
    batches: BatchesOption = None,
    skeleton: SkeletonOption = "",
    seed: Annotated[
        str, typer.Option(metavar="S[,S]...", help="Decides weights, inputs and sample; several give mean and spread.")
    ] = "0",
    repeats: RepeatsOption = 1,
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    timeout: TimeoutOption = None,
    max_worker_memory: WorkerMemoryOption = None,
    device: DeviceOption = None,
    warmup: WarmUpOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps all scores, and the report; default: runs/correlate-SPACE-TABLE."),
    ] = None,
    same_versions: SameVersionsOption = False,
    as_json: Json = False,
) -> None:
    """Compare proxies with true accuracies: rank correlation and top networks found, with 95 % intervals.

    Scores are kept in the folder: asking again, or for another proxy or target, computes only what is new.

    Spearman: how far the proxy orders the networks as the truth does, from 1, the same order, to -1, the reverse.
    Kendall: the same, by counting pairs in the right order. top 10% found: the share of the truly best tenth that is
    in the proxy's best tenth; too few networks if below 46. best of top 10: the best true value among the
    ten that the proxy ranks first. behind the best: how much lower its Spearman correlation is than that of the first
    row. networks: how many have a true value; all statistics are of these. no score: how many of them the proxy cannot
    score; they rank last, since none of them would be chosen. The reason is told below the table.

    Example: firstlight correlate nasbench201 --table nb201.parquet --target cifar10_test_200 --proxy dextr,zico,params

    Example: firstlight correlate nasbench201 --table nb201.parquet --target cifar10_test_200 --proxy all --ensemble
    """
    from firstlight.evaluation import calls
    from firstlight.proxies.requests import parse_requests
    from firstlight.tables.table import load_table
    from firstlight.views.console import console, counting

    parse_requests(proxy)  # a misspelt name is refused before anything is read
    found = load_table(table)
    if target is None:
        names = ", ".join(entry.name for entry in found.targets())
        raise SettingError(f"Name the column of {table} to compare with: --target COLUMN. It has: {names}.")
    count = _read_samples(samples)
    folder = out or Path("runs") / f"correlate-{space}-{table.stem}"
    with resumable(folder), counting("scoring") as progress:
        study = calls.correlate(
            space,
            found,
            target.split(","),
            proxies=proxy,
            samples=count,
            first=first,
            exact=exact,
            ensemble=ensemble,
            input=input,
            labels=labels,
            batch_size=batch_size,
            batches=batches,
            skeleton=dict(read_pairs(skeleton)),
            seed=read_seeds(seed),
            repeats=repeats,
            executor=choose_executor(workers, executor, address, first or len(found), timeout, max_worker_memory),
            device=device,
            warmup=warmup,
            out=folder,
            same_versions=same_versions,
            watch=progress,
        )
    if as_json:
        typer.echo(json.dumps(study.to_dict(ensemble=ensemble)))
        return
    show_study(study, ensemble=ensemble)
    console.print(f"\nReport, statistics and scores: {folder}", markup=False, soft_wrap=True)


def show_study(study: Study, *, ensemble: bool = False) -> None:
    from firstlight.tables.targets import Target
    from firstlight.views.console import console, show_figures
    from firstlight.views.pages.correlation import COLUMNS, LEGEND, cells, describe

    rows = study.sample.rows
    for target in study.sample.targets:
        counts = f"{len(rows):,} networks, {len(study.sample.classes):,} different functions"
        console.print(f"{target} ({Target.of_column(target)}): {counts}.", markup=False, soft_wrap=True)
        behind = study.behind_best[target]
        shown = []
        for name, found in study.ordered(target):
            spread = study.over_seeds(target, name)
            seeds = [f"{spread[0]:.3f} ± {spread[1]:.3f}" if spread else "-"] if len(study.seeds) > 1 else []
            counted = [f"{found.networks:,}", f"{found.unscored:,}"]
            shown.append([name, *cells(found), *seeds, str(behind.get(name, "-")), *counted])
        over = [f"over {len(study.seeds)} seeds"] if len(study.seeds) > 1 else []
        show_figures(["proxy", *COLUMNS.values(), *over, "behind the best", "networks", "no score"], shown, "proxy")
        for name, found in study.ordered(target):
            for note in filter(None, (found.note, study.without_score(target, name))):
                console.print(f"{name}: {note}.", markup=False, soft_wrap=True)
        if ensemble:
            judged = study.ensembles[target]
            said = (
                describe(judged)
                if judged
                else "Too few networks to choose an ensemble on one half and judge it on the other."
            )
            console.print(said, markup=False, soft_wrap=True)
        console.print()
    for column, meaning in LEGEND.items():
        console.print(f"{column}: {meaning}.", markup=False, soft_wrap=True, style="dim")
    for remark in study.remarks:
        console.print(remark, markup=False, soft_wrap=True)


def _read_samples(text: str | None) -> int | Literal["all"] | None:
    if text is None or text == "all":
        return text  # type: ignore[return-value]
    if not text.isdecimal():
        raise SettingError(f"--samples is {text!r}; write a number, or 'all'.")
    return int(text)
