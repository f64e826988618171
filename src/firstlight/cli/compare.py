"""`firstlight compare`: search methods side by side, by what they find and what that costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import (
    AddressOption,
    DeviceOption,
    ExecutorOption,
    Json,
    SameVersionsOption,
    SkeletonOption,
    TimeoutOption,
    WorkerMemoryOption,
    WorkersOption,
    choose_executor,
    read_pairs,
    read_recipe,
    resumable,
)
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.evaluation.compare import Comparison


def compare(
    space: Annotated[str, typer.Argument(help="The search space; see `firstlight spaces`.")],
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trained networks: a .parquet or .csv; see `firstlight table`.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Instead of a table, what to train on: digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA."
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Search algorithms by name, separated by commas, with settings behind it: evolution:population=20. "
            "ALGORITHM@PROXY searches by a proxy instead, and is judged by the truth."
        ),
    ] = "random,evolution,reinforce,bohb",
    queries: Annotated[
        str, typer.Option(metavar="N[,N]...", help="After how many queries to look, in ascending order.")
    ] = "20,50,100",
    seeds: Annotated[int, typer.Option(help="How often each method is run.", min=1)] = 10,
    target: Annotated[
        str | None,
        typer.Option(help="The table's column to search by; default: validation accuracy after the fewest epochs."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            help="Columns that the best network is judged by; default: test accuracies after the most epochs."
        ),
    ] = None,
    fidelities: Annotated[
        str | None,
        typer.Option(
            help="What bohb chooses from: columns (default: as the target, after any number of epochs), or with --data "
            "numbers of epochs such as 1,3."
        ),
    ] = None,
    seconds: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The table's seconds of training; default: by its name. COLUMN*0.5 for half of it.",
        ),
    ] = None,
    within: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Look also when so many seconds of training are spent.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="With --data: for how many epochs each is trained.", min=1)] = 3,
    data_samples: Annotated[
        int | None,
        typer.Option(help="With --data: use only so many samples, training and validation together.", min=10),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="With --data: samples in a batch of the training.", min=2)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="With --data: where the learning rate starts; it falls to 0.")
    ] = None,
    skeleton: SkeletonOption = "",
    input: Annotated[
        str | None, typer.Option(help="What proxies are shown; default: synthetic, or what is trained on.")
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    timeout: TimeoutOption = None,
    max_worker_memory: WorkerMemoryOption = None,
    device: DeviceOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps all results, and the report; default: runs/compare-SPACE-TABLE."),
    ] = None,
    same_versions: SameVersionsOption = False,
    as_json: Json = False,
) -> None:
    """Let search methods compete on a table of trained networks, or with real training: what is found at what cost.

    A query is a network that is asked about. All methods are counted alike: queries, epochs, seconds of training.

    Example: firstlight compare nasbench201 --table nb201.parquet --queries 20,50,100 --seeds 10

    Example: firstlight compare nasbench201 --data digits --epochs 1 --queries 8 --seeds 2 --skeleton channels=4,cells=1
    """
    from firstlight.evaluation import calls
    from firstlight.views.console import counting

    where = table.stem if table else Path((data or "").partition(":")[2]).stem or data
    folder = out or Path("runs") / f"compare-{space}-{where}"
    levels = fidelities.split(",") if fidelities else None
    with resumable(folder), counting("searching") as progress:
        found = calls.compare(
            space,
            table,
            methods=methods,
            queries=_numbers("queries", queries.split(",")),
            seeds=seeds,
            target=target,
            report=report.split(",") if report else None,
            fidelities=_numbers("fidelities", levels) if data and levels else levels,
            seconds=seconds,
            within=within,
            data=data,
            epochs=epochs,
            recipe=read_recipe(batch_size, learning_rate),
            data_samples=data_samples,
            skeleton=dict(read_pairs(skeleton)),
            input=input,
            executor=choose_executor(workers, executor, address, timeout=timeout, max_worker_memory=max_worker_memory),
            device=device,
            out=folder,
            same_versions=same_versions,
            watch=progress,
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    _show(found, folder)


def _show(found: Comparison, folder: Path) -> None:
    from firstlight.views.console import console, show_figures
    from firstlight.views.pages.comparison import cells, headers, notes

    show_figures(headers(found), [cells(found, row) for row in found.rows], "method", "after")
    for note in notes(found):
        console.print(note, markup=False, soft_wrap=True)
    console.print(f"\nReport, rows and all queries: {folder}", markup=False, soft_wrap=True)


def _numbers(name: str, texts: list[str]) -> list[int]:
    try:
        return [int(text) for text in texts]
    except ValueError:
        raise SettingError(f"--{name} is {','.join(texts)!r}; write whole numbers, separated by commas.") from None
