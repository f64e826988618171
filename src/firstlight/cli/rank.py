"""`firstlight rank`: networks in order of merit, and how far the proxies agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    RepeatsOption,
    SeedOption,
    SkeletonOption,
    TimeoutOption,
    WarmUpOption,
    WorkerMemoryOption,
    WorkersOption,
    choose_executor,
    fail_without_scores,
    read_pairs,
    read_shape,
)
from firstlight.cli.targets import (
    FromOption,
    LogitsOption,
    ShapeOption,
    import_model,
    is_own_model,
    read_architectures,
    read_logits,
)
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firstlight.scoring.models import Model


def rank(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SPACE|MODULE:FACTORY",
            help="A search space, or a function of yours that returns an nn.Module. Its module is imported: what you "
            "name as module:name is the only code that is ever loaded.",
        ),
    ],
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARCH|MODULE:FACTORY]...", help="Architectures of the space, or more models of yours."),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            "--proxy",
            help="Proxies by name, module:name of your own, separated by commas, or 'all'. By default those of --by, "
            "else dextr.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="What decides the order: a proxy, or an ensemble such as az_nas, log_rank(dextr,macs) or "
            "rank_mean(dextr*2,params). By default the first proxy."
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="How many different architectures to draw at random.", min=0)] = 0,
    source: FromOption = None,
    top: Annotated[int | None, typer.Option(help="Print only so many of the best.", min=1)] = None,
    input: InputOption = "synthetic",
    labels: LabelsOption = "true",
    batch_size: BatchOption = None,
    batches: BatchesOption = None,
    input_shape: ShapeOption = None,
    logits: LogitsOption = None,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    repeats: RepeatsOption = 1,
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    timeout: TimeoutOption = None,
    max_worker_memory: WorkerMemoryOption = None,
    device: DeviceOption = None,
    warmup: WarmUpOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write all rows to this file as well.")] = None,
    as_json: Json = False,
) -> None:
    """Compare networks by several proxies: a table in order of one of them, and how far they agree.

    Models of your own are scored in this process; one that cannot be made or run comes last, with the reason.

    Example: firstlight rank nasbench201 --samples 100 --proxy dextr,params --top 10

    Example: firstlight rank nasbench201 --from architectures.txt --by 'rank_mean(dextr*2,params)'

    Example: firstlight rank mypackage.models:small mypackage.models:large --input-shape 3,32,32
    """
    from firstlight import api
    from firstlight.execution.executor import refuse_isolation
    from firstlight.scoring.models import IN_THIS_PROCESS
    from firstlight.search.ranking import read_criteria
    from firstlight.spaces.finding import find_space
    from firstlight.views.console import show_ranking, watching

    read_criteria(proxy, by)  # a misspelt name is refused before anything is imported or read
    networks: str | Mapping[str, Model]
    architectures: list[str] = []
    if is_own_model(target, seed):
        if source:
            raise SettingError(
                f"{target} names a model of your own; name the others after it instead of --from {source}."
            )
        refuse_isolation(IN_THIS_PROCESS, timeout, max_worker_memory)
        networks = {name: import_model(name, seed) for name in (target, *(others or []))}
        total = len(networks)
    else:
        networks = target
        architectures = read_architectures(find_space(target), others, source)
        total = len(set(architectures)) + samples
    with watching(total) as watcher:
        ranking = api.rank(
            networks,
            architectures,
            samples=samples,
            proxies=proxy,
            by=by,
            input=input,
            labels=labels,
            batch_size=batch_size,
            batches=batches,
            input_shape=read_shape(input_shape),
            logits=read_logits(logits),
            skeleton=dict(read_pairs(skeleton)),
            seed=seed,
            repeats=repeats,
            executor=choose_executor(workers, executor, address, total, timeout, max_worker_memory),
            device=device,
            warmup=warmup,
            watch=lambda network: watcher.saw(None),
        )
    if as_json:
        content = ranking.to_dict()
        typer.echo(json.dumps(content | {"networks": content["networks"][:top]}))
    else:
        show_ranking(ranking, top)
    if out is not None:
        ranking.write_csv(out)
    fail_without_scores(row.network for row in ranking.rows)
