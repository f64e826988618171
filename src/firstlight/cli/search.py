"""`firstlight search`: the best network of a space under limits."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import (
    AddressOption,
    BatchesOption,
    BatchOption,
    DeviceOption,
    ExecutorOption,
    Json,
    LabelsOption,
    RepeatsOption,
    SameVersionsOption,
    SeedOption,
    SkeletonOption,
    TimeoutOption,
    WarmUpOption,
    WorkerMemoryOption,
    WorkersOption,
    choose_executor,
    read_setting,
    resumable,
)
from firstlight.cli.settings_file import SettingsOption

if TYPE_CHECKING:
    from firstlight.search.result import SearchResult
    from firstlight.search.setting import SearchSetting


BY_TRUTH = "By what trained networks reach"
# of a run's folder, before the digest that tells it apart
LONGEST_NAME = 100
# more than any number of networks below which workers would not pay
MUCH_WORK = 1000


def search(
    space: Annotated[str, typer.Argument(help="The search space; see `firstlight spaces`.")],
    proxy: Annotated[
        str | None,
        typer.Option(
            help="The proxy to maximise (or minimise, if lower is better), also module:name of your own, or an "
            "ensemble such as az_nas or log_rank(dextr,params). Default: dextr, or what is usual for the algorithm or "
            "the space. Not with --data or --table.",
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            help="How to search: random, evolution (regularised), evolution-budget (grows up to the limits), pareto (a "
            "front of score against --objectives), zero-cost-pt (on a supernet), nasi (read off a one-shot "
            "network), hnas, verify or portfolio (a few are trained, see below), or others of `firstlight algorithms`. "
            "Settings are written behind the name: "
            "evolution:population=32:children=4."
        ),
    ] = "random",
    variant: Annotated[
        str | None, typer.Option(help="The algorithm's setting of that name: percentile, fix or ada of nasi.")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="How many networks may be scored; default: 500.", min=1)] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Judge networks by training them briefly: on digits, npz:PATH, folder:PATH, or a name in "
            "$FIRSTLIGHT_DATA. Clicks (criteo:FILE, avazu:FILE, kdd:FILE) are shown to proxies, and --retrain trains "
            "on them.",
            rich_help_panel=BY_TRUTH,
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Or look up what they reach in a table of trained networks.", rich_help_panel=BY_TRUTH
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The table's column; default: validation accuracy after the fewest epochs.", rich_help_panel=BY_TRUTH
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(help="How many networks may be asked about; default: 20.", min=1, rich_help_panel=BY_TRUTH),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="The setting of hnas: the proxy that it tunes, such as ntk_trace or dextr.", rich_help_panel=BY_TRUTH
        ),
    ] = None,
    pool: Annotated[
        int | None,
        typer.Option(
            help="The setting of hnas, verify and portfolio: among how many networks proxies choose; default: 2,000.",
            min=1,
            rich_help_panel=BY_TRUTH,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="With --data: for how many epochs; default: 3.", min=1, rich_help_panel=BY_TRUTH),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="With --data: how to train, such as hnas or quick:batch_size=32, see `firstlight train --help`; "
            "default: batches of 128, a rate of 0.1 that falls to 0.",
            rich_help_panel=BY_TRUTH,
        ),
    ] = None,
    data_samples: Annotated[
        int | None,
        typer.Option(
            help="With --data: use only so many samples, training and validation together.",
            min=10,
            rich_help_panel=BY_TRUTH,
        ),
    ] = None,
    retrain: Annotated[
        int | None,
        typer.Option(
            help="With --data of clicks: train the so many best from scratch, beside four networks made by hand, and "
            "report log loss and AUC.",
            min=1,
            rich_help_panel=BY_TRUTH,
        ),
    ] = None,
    retrain_times: Annotated[
        int,
        typer.Option(help="With --retrain: how many times each, with other seeds.", min=1, rich_help_panel=BY_TRUTH),
    ] = 1,
    retrain_random: Annotated[
        int,
        typer.Option(
            help="With --retrain: train so many networks drawn at random, too, to compare with.",
            min=0,
            rich_help_panel=BY_TRUTH,
        ),
    ] = 0,
    population: Annotated[
        int | None, typer.Option(help="The setting of evolution and its kin: how many networks live.", min=1)
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(help="The setting of evolution: end after so many, with ever fewer mutations, as NASRec.", min=1),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="The setting of evolution, its tournament: among how many a parent is the best.", min=1),
    ] = None,
    children: Annotated[
        int | None, typer.Option(help="The setting of evolution: how many children a parent has.", min=1)
    ] = None,
    max_params: Annotated[str | None, typer.Option(help="Most parameters, such as 1.0M.")] = None,
    max_macs: Annotated[str | None, typer.Option(help="Most multiply-accumulates, such as 120M.")] = None,
    min_params: Annotated[str | None, typer.Option(help="Fewest parameters.")] = None,
    min_macs: Annotated[str | None, typer.Option(help="Fewest multiply-accumulates.")] = None,
    max_activations: Annotated[
        str | None, typer.Option(help="Most numbers put out by convolutions and matrix products for one input.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Most bytes that a forward pass of one input holds at a time, such as 20MB.")
    ] = None,
    max_latency: Annotated[
        str | None, typer.Option(help="Most milliseconds for one input; --latency says where they come from.")
    ] = None,
    objectives: Annotated[
        str,
        typer.Option(
            help="Costs to be kept low besides the score: params, macs, activations, memory or latency, or several as "
            "in macs,latency. The result is then a front of networks, none of which is beaten in everything."
        ),
    ] = "",
    latency: Annotated[
        str,
        typer.Option(
            help="Where latencies come from: measured (here, on one thread), measured:threads=2, onnx (by ONNX "
            "Runtime), or table:FILE:COLUMN."
        ),
    ] = "measured",
    input: Annotated[
        str | None,
        typer.Option(
            help="What proxies are shown: synthetic (default, or else the --data), circle, digits, npz:PATH, "
            "folder:PATH, or a name in $FIRSTLIGHT_DATA.",
        ),
    ] = None,
    labels: LabelsOption = "true",
    batch_size: BatchOption = None,
    batches: BatchesOption = None,
    skeleton: SkeletonOption = "",
    workers: WorkersOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    timeout: TimeoutOption = None,
    max_worker_memory: WorkerMemoryOption = None,
    seed: SeedOption = 0,
    repeats: RepeatsOption = 1,
    device: DeviceOption = None,
    warmup: WarmUpOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default: a folder under runs/ named by the settings.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep scores and runs in this file, which several searches may share, even at the same time; "
            "default: in the folder of the run.",
        ),
    ] = None,
    same_versions: SameVersionsOption = False,
    settings: SettingsOption = None,
    as_json: Json = False,
) -> None:
    """Find the best network of a space under limits, without training any, or guided by a few short trainings.

    Run the same command again to resume a search that was cut off: nothing is scored twice.

    Example: firstlight search nasbench201 --proxy dextr --samples 500 --max-params 1.0M

    Example: firstlight search nasbench201 --proxy 'log_rank(dextr,params)' --samples 500

    Example: firstlight search mobilenetv2 --algorithm evolution-budget --max-macs 450M

    Example: firstlight search darts --algorithm nasi --variant ada --input digits --labels random

    Example: firstlight search nasbench201 --algorithm pareto --objectives macs,latency

    Example: firstlight search nasrec-small --data criteo:clicks.parquet --warmup 1% --algorithm evolution --retrain 5

    Example: firstlight search --settings plainnet-cifar --proxy zico --samples 2000

    Example: firstlight search nasbench201 --algorithm hnas --data digits@16 --queries 8 --pool 100 --skeleton cells=1
    """
    from firstlight.core.errors import SettingError
    from firstlight.core.events import Event
    from firstlight.data.clicks import is_clicks
    from firstlight.evaluation.asking import read_count, read_criterion, truth_request
    from firstlight.evaluation.retraining import read_retrain
    from firstlight.proxies.ensembles import asked_for
    from firstlight.scoring.costs import read_costs
    from firstlight.scoring.service import source_for
    from firstlight.search.algorithm import AlgorithmRequest
    from firstlight.search.objective import parse_limits
    from firstlight.search.result import SearchInterrupted
    from firstlight.search.run_folder import RunStore
    from firstlight.search.runner import run_search
    from firstlight.search.setting import SearchSetting
    from firstlight.spaces.finding import find_space
    from firstlight.training.warm_up import read_warm_up
    from firstlight.views.console import show_result, watching

    named = {
        "variant": variant,
        "metric": metric,
        "pool": pool,
        "population": population,
        "generations": generations,
        "tournament": sample,
        "children": children,
    }
    for name, value in named.items():
        if value is not None:
            if f":{name}=" in algorithm:
                raise SettingError(f"The {name} is named in {algorithm!r} and by --{name} {value}. Leave one out.")
            algorithm += f":{name}={value}"
    wanted_retraining = read_retrain(
        data, retrain, times=retrain_times, random=retrain_random, recipe=recipe, epochs=epochs
    )
    clicks = data if data is not None and is_clicks(data) else None
    if clicks is not None:  # which proxies judge by, and what the best are trained on
        data, recipe, epochs = None, None, None
    by_truth = table is not None or data is not None
    request = AlgorithmRequest.parse(algorithm, batch_size=batch_size, for_queries=by_truth)
    warm_up = None if warmup is None else read_warm_up(warmup, find_space(space))
    by = read_criterion(proxy, request, space, by_truth, warmed=warm_up is not None)
    count = read_count(samples, queries, by_truth, request)
    # the work of an algorithm that decides by itself is not that of the networks which it scores
    work = MUCH_WORK if request.algorithm.searches_supernet or by_truth else count
    source = source_for(asked_for(by), input or data or clicks or "synthetic", batch_size, batches, labels)
    setting = read_setting(space, source, skeleton, seed, device, repeats, warm_up)
    wanted = SearchSetting(
        setting,
        by,
        request,
        count,
        parse_limits(
            max_params=max_params,
            max_macs=max_macs,
            min_params=min_params,
            min_macs=min_macs,
            max_activations=max_activations,
            max_memory=max_memory,
            max_latency=max_latency,
        ),
        read_costs(filter(None, objectives.split(","))),
        latency,
        truth_request(
            setting, table=table, target=target, data=data, epochs=epochs, recipe=recipe, data_samples=data_samples
        ),
    )
    directory = out or _default_directory(wanted)
    networks = MUCH_WORK if wanted_retraining else work
    place = choose_executor(workers, executor, address, networks, timeout, max_worker_memory)
    with resumable(directory):
        try:
            with watching(count if by_truth else work, "asking" if by_truth else "scoring") as watcher:

                def afterwards(result: SearchResult) -> SearchResult:
                    if not wanted_retraining:
                        return result
                    return wanted_retraining(
                        result, place, lambda done, total: watcher(Event("retraining", done, total))
                    )

                kept = RunStore(directory, store, same_versions)
                result = run_search(wanted, place, kept, callback=watcher, afterwards=afterwards)
        except SearchInterrupted as interrupted:
            if as_json:
                typer.echo(json.dumps(interrupted.result.to_dict()))
            else:
                show_result(interrupted.result)
            raise
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        show_result(result)


def _default_directory(search: SearchSetting) -> Path:
    """The same settings lead to the same folder, and so to a resumed run."""
    settings = search.to_dict()
    digest = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=3).hexdigest()
    name = f"{settings['space']}-{settings['proxy']}-{settings['algorithm']}"[:LONGEST_NAME] + f"-{digest}"
    return Path("runs") / re.sub(r"[^\w.-]+", "_", name)
