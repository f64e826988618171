"""`firstlight trust`: which proxy to believe on one's own data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.options import (
    AddressOption,
    DeviceOption,
    ExecutorOption,
    Json,
    SameVersionsOption,
    SeedOption,
    SkeletonOption,
    TimeoutOption,
    WorkerMemoryOption,
    WorkersOption,
    choose_executor,
    read_pairs,
    read_recipe,
    resumable,
)


def trust(
    space: Annotated[str, typer.Argument(help="The search space; see `firstlight spaces`.")],
    data: Annotated[
        str,
        typer.Option(help="What to train on: digits, npz:PATH, folder:PATH, or a name in the folder $FIRSTLIGHT_DATA."),
    ],
    train: Annotated[int, typer.Option(help="How many random networks to train.", min=10)] = 24,
    epochs: Annotated[int, typer.Option(help="For how many epochs each.", min=1)] = 3,
    proxy: Annotated[
        str,
        typer.Option(
            "--proxy", help="Proxies to choose from, by name, module:name of your own, separated by commas, or 'all'."
        ),
    ] = "all",
    data_samples: Annotated[
        int | None, typer.Option(help="Use only so many samples of the data, training and validation together.", min=10)
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Samples in a batch of the training.", min=2)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Where the learning rate starts; it falls to 0.")] = None,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    timeout: TimeoutOption = None,
    max_worker_memory: WorkerMemoryOption = None,
    device: DeviceOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder that keeps all results, and the report; default: runs/trust-SPACE-DATA.")
    ] = None,
    same_versions: SameVersionsOption = False,
    as_json: Json = False,
) -> None:
    """Find out which proxy to trust on your own data: train a few random networks briefly, and see who foretold it.

    Run the same command again to resume: no network is trained twice. A smaller skeleton makes it faster.

    Example: firstlight trust nasbench201 --data digits --train 24 --epochs 3 --skeleton channels=4,cells=1

    Example: firstlight trust nasbench201 --data folder:photos@32 --train 40 --epochs 5
    """
    from firstlight.cli.correlate import show_study
    from firstlight.evaluation import calls
    from firstlight.views.console import console, phases
    from firstlight.views.pages.trust import advise

    folder = out or Path("runs") / f"trust-{space}-{Path(data.partition(':')[2]).stem or data}"
    with resumable(folder), phases() as phase:
        found = calls.trust(
            space,
            data,
            train=train,
            epochs=epochs,
            proxies=proxy,
            recipe=read_recipe(batch_size, learning_rate),
            data_samples=data_samples,
            skeleton=dict(read_pairs(skeleton)),
            seed=seed,
            executor=choose_executor(workers, executor, address, timeout=timeout, max_worker_memory=max_worker_memory),
            device=device,
            out=folder,
            same_versions=same_versions,
            watch_training=phase("training"),
            watch_scoring=phase("scoring"),
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    console.print(f"{found.trained} networks trained now, {len(found.evaluations) - found.trained} known from before.")
    show_study(found.study)
    for sentence in advise(found):
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(f"\nReport, statistics and scores: {folder}", markup=False, soft_wrap=True)
