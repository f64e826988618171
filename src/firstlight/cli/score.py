"""`firstlight score`: scores of given architectures, or of a model of one's own."""

from __future__ import annotations

import json
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
    read_setting,
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
    from firstlight.execution.executor import Executor
    from firstlight.proxies.requests import ProxyRequest
    from firstlight.scoring.models import ModelSetting
    from firstlight.scoring.service import Setting


def score(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SPACE|MODULE:FACTORY",
            help="A search space, or a function of yours that returns an nn.Module. Its module is imported: what you "
            "name as module:name is the only code that is ever loaded.",
        ),
    ],
    architectures: Annotated[
        list[str] | None, typer.Argument(metavar="[ARCH]...", help="Architectures of the space.")
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            help="Proxies by name, module:name of your own, separated by commas, or 'all'; see `firstlight proxies`. "
            "Default: dextr, or what is usual for the space."
        ),
    ] = None,
    input: InputOption = "synthetic",
    labels: LabelsOption = "true",
    batch_size: BatchOption = None,
    batches: BatchesOption = None,
    input_shape: ShapeOption = None,
    logits: LogitsOption = None,
    source: FromOption = None,
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
    as_json: Json = False,
) -> None:
    """Score architectures of a space, or a model of your own (in this process), by one or more proxies.

    Example: firstlight score nasbench201 --from architectures.txt --proxy dextr,params

    Example: firstlight score nasbench201 '|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|'

    Example: firstlight score mypackage.models:resnet --input-shape 3,32,32
    """
    from firstlight.execution.executor import refuse_isolation
    from firstlight.proxies.requests import read_requests
    from firstlight.scoring.models import IN_THIS_PROCESS, DrawnBatches, ModelSetting, refuse_for_space
    from firstlight.scoring.service import source_for
    from firstlight.spaces.finding import find_space
    from firstlight.training.warm_up import WARMED_BY_OWNER, read_warm_up
    from firstlight.views.console import notices

    if proxy is None:
        proxy = "dextr" if is_own_model(target, seed) else find_space(target).proxy
    if warmup is not None and is_own_model(target, seed):
        raise SettingError(WARMED_BY_OWNER)
    warm_up = None if warmup is None else read_warm_up(warmup, find_space(target))
    requests = read_requests(proxy, None if warm_up is None else find_space(target).data_kind)
    shown = source_for(requests, input, batch_size, batches, labels)
    if shown.remark:
        notices.print(shown.remark, markup=False, soft_wrap=True)
    if is_own_model(target, seed):
        if architectures or source:
            raise SettingError(f"{target} names a model of your own; it takes no architectures.")
        if skeleton:
            raise SettingError(f"{target} names a model of your own; it takes no skeleton.")
        refuse_isolation(IN_THIS_PROCESS, timeout, max_worker_memory)
        drawn = DrawnBatches(shown, read_shape(input_shape))
        drawn(seed)  # data are checked here, before any work starts
        own = ModelSetting(drawn, logits=read_logits(logits), seed=seed, device=device, repeats=repeats)
        _score_own_model(target, requests, own, as_json)
        return
    refuse_for_space(target, input_shape=input_shape, logits=logits)
    setting = read_setting(target, shown, skeleton, seed, device, repeats, warm_up)
    texts = read_architectures(setting.space, architectures, source)
    if not texts:
        raise SettingError(
            "No architecture was given. Name some after the space, or read them with --from FILE. Some at random: "
            f"`firstlight rank {target} --samples 20`."
        )
    place = choose_executor(workers, executor, address, len(texts), timeout, max_worker_memory)
    _score_architectures(setting, texts, requests, place, as_json)


def _score_architectures(
    setting: Setting, texts: list[str], requests: list[ProxyRequest], executor: Executor, as_json: bool
) -> None:
    """Print in the order asked, each line as soon as all before it are known."""
    from firstlight.scoring.service import ScoreService
    from firstlight.storage.store import Store
    from firstlight.views.console import show_network, watching

    known = {}
    position = 0
    different = list(dict.fromkeys(texts))
    with Store(":memory:") as store, watching(len(different)) as watcher:
        for network in ScoreService(setting, requests, executor, store).scores(different):
            watcher.saw(None)
            known[network.architecture] = network
            while position < len(texts) and texts[position] in known:
                ready = known[texts[position]]
                position += 1
                if as_json:
                    typer.echo(json.dumps({"space": setting.space_name, **ready.to_dict()}))
                else:
                    show_network(ready)
    fail_without_scores(known.values())


def _score_own_model(target: str, requests: list[ProxyRequest], setting: ModelSetting, as_json: bool) -> None:
    from firstlight.scoring.models import score_model
    from firstlight.views.console import show_network

    network = score_model(target, import_model(target, setting.seed), requests, setting)
    if as_json:
        typer.echo(json.dumps({"space": None, **network.to_dict()}))
    else:
        show_network(network)
    fail_without_scores([network])
