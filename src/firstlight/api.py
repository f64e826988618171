"""The library in four calls: score a model, rank several networks, get a space, search it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError
from firstlight.data.clicks import is_clicks
from firstlight.data.inputs import SYNTHETIC, TRUE_LABELS, check_source_name
from firstlight.execution.executor import LOCAL, Executor, make_executor, refuse_isolation
from firstlight.probe import Batches, Loss
from firstlight.proxies.base import NetworkScore, Proxies, Proxy, Score
from firstlight.proxies.ensembles import asked_for
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.costs import read_costs
from firstlight.scoring.models import (
    IN_THIS_PROCESS,
    DrawnBatches,
    Model,
    ModelSetting,
    measure_model,
    refuse_for_space,
    score_models,
)
from firstlight.scoring.service import ScoreService, make_setting, source_for
from firstlight.search.algorithm import Algorithm, AlgorithmRequest
from firstlight.search.objective import Candidate, parse_limits
from firstlight.search.ranking import Ranking, rank_networks, read_criteria, score_architectures
from firstlight.search.result import SearchResult
from firstlight.search.run_folder import RunStore
from firstlight.search.runner import run_search
from firstlight.search.setting import SearchSetting
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.finding import find_space
from firstlight.storage.store import Store
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WARMED_BY_OWNER, WarmUp, read_warm_up

if TYPE_CHECKING:
    from firstlight.tables.table import Table
    from firstlight.training.recipe import TrainingRecipe


def score(
    model: Model,
    batches: Batches | Callable[[int], Batches],
    proxies: Proxies = ("dextr",),
    seed: int = 0,
    *,
    loss: Loss | None = None,
    logits: int | str | None = None,
    repeats: int = 1,
) -> dict[str, Score]:
    """Judge any network before it is trained.

    The model comes back exactly as it went in. All proxies share what they measure, so asking for several at once is
    cheaper than one after the other.

    `batches` is one batch or a list of them. A batch is a tensor of inputs, or a pair (inputs, targets) as a DataLoader
    gives it; `needs` in `firstlight proxies` says which proxies want targets, and how many batches. Targets are class
    labels, rows of class probabilities, or whatever `loss` takes. A network with several inputs gets a tuple or a
    dictionary of tensors in place of the one: `((a, b), targets)` or `((a, b), None)`, `{"ids": a, "mask": b}`.

    What goes wrong while a proxy measures (labels that the network has no class for, a layer it cannot handle, a lack
    of memory) is the `status` of its score, with the cause in `note` and NaN as the value; the other scores are not
    affected. What is wrong with all of them raises an error: batches that make no sense, a model in half precision or
    with lazy layers, one that cannot be made or run.

    `loss(logits, targets)` is cross-entropy unless given. `logits` names the logits in the output of a network that
    returns a tuple (a number) or a dictionary (a key).

    With `repeats`, `model` is a function that makes the network; it is called so often with other random numbers, and
    each score is the mean, with its standard error among the parts. `batches` may be a function of a seed, to draw
    other inputs each time.

    >>> firstlight.score(model, torch.randn(1, 3, 32, 32), proxies=("dextr", "params"))["dextr"].value
    """
    name = getattr(model, "__name__", "The model")
    setting = ModelSetting(batches, loss, logits, seed, repeats=repeats)
    scores, _ = measure_model(name, model, parse_requests(proxies, plain=True), setting)
    return scores


def rank(
    target: str | Space[Any] | Mapping[str, Model],
    architectures: Iterable[str | Architecture] = (),
    *,
    samples: int = 0,
    proxies: Proxies | None = None,
    by: str | Proxy | None = None,
    input: str | Batches = "synthetic",
    labels: str = "true",
    batch_size: int | None = None,
    batches: int | None = None,
    input_shape: tuple[int, ...] | None = None,
    loss: Loss | None = None,
    logits: int | str | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    repeats: int = 1,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
    device: str | None = None,
    warmup: str | float | WarmUp | SharedWarmUp | None = None,
    watch: Callable[[NetworkScore], None] = lambda network: None,
) -> Ranking:
    """Compare networks by several proxies, in order of one of them or of an ensemble, and say how far they agree.

    `target` is a space (its name, or one of your own as `search` takes it), with `architectures` of it or the number of
    `samples` to draw at random; or models of your own by name, each an `nn.Module` or a function that returns one.
    `proxies` are names, `module:name` of your own, or objects. `by` is a proxy, by default the first, or an ensemble
    such as `rank_mean(dextr*2,params)`; the proxies it needs are asked as well. `watch` is told of each network as it
    is scored.

    `input` is the name of a source, of which `batches` of `batch_size` are drawn, as large and as many as the proxies
    take unless given; its `labels` are "true", or "random" in their place. Models of your own may be shown batches as
    `score` takes them instead; `loss` and `logits` are for them as well, and explained there, and `input_shape` is that
    of one synthetic input, by default (3, 32, 32).

    With a `warmup`, such as 0.1, "10%" or "10%:epochs=3:recipe=official", networks of a space are first trained on that
    share of the input's training data; see docs/warm-up.md.

    Models of your own are scored in this process, one after the other: `workers` are for spaces, and so are `timeout`
    and `max_worker_memory`, which `search` explains. They come back as they went in, but stay on the `device` if one is
    named. One that cannot be made or run comes last, with failed scores that say why and None as its cost.

    >>> firstlight.rank("nasbench201", samples=100, proxies="dextr,params").rows[0].network.architecture
    >>> firstlight.rank({"narrow": Net(16), "wide": Net(32)}, by="log_rank(dextr,macs)").rows[0].network.architecture
    """
    warm_up = None
    if isinstance(target, (str, Space)):
        found_space = find_space(target) if isinstance(target, str) else target
        warm_up = read_warm_up(warmup, found_space)
    requests, criterion = read_criteria(proxies, by, found_space.shown if warm_up else None)
    networks: Iterable[NetworkScore]
    with Store(":memory:") as store:
        if isinstance(target, (str, Space)):
            name = target if isinstance(target, str) else target.name
            if not isinstance(input, str):
                raise SettingError(f"Networks of the space {name!r} take the name of an input, such as 'synthetic'.")
            refuse_for_space(name, loss=loss, logits=logits, input_shape=input_shape)
            source = source_for(requests, input, batch_size, batches, labels)
            setting = make_setting(target, source, skeleton, seed, device, repeats, warm_up)
            given = [architectures] if isinstance(architectures, str) else architectures
            place = make_executor(workers, executor, timeout=timeout, max_worker_memory=max_worker_memory)
            service = ScoreService(setting, requests, place, store)
            networks = score_architectures(service, given, samples)
        else:
            if not isinstance(target, Mapping):
                raise SettingError(
                    f"Expected the name of a space, or models by name such as {{'mine': model}}; got a "
                    f"{type(target).__name__}."
                )
            if len(list(architectures)) or samples or skeleton or not isinstance(batches, int | None):
                raise SettingError(
                    "Models of your own take no architectures, no samples and no skeleton. Data to show them is "
                    "input=, and batches= is the number of batches to draw."
                )
            refuse_isolation(IN_THIS_PROCESS, timeout, max_worker_memory)
            if warmup is not None:
                raise SettingError(WARMED_BY_OWNER)
            if not target:
                raise SettingError("There is nothing to rank. Give models by name, or the name of a space.")
            shown: Batches | Callable[[int], Batches]
            if isinstance(input, str):
                shown = DrawnBatches(source_for(requests, input, batch_size, batches, labels), input_shape)
            elif (batch_size, batches, input_shape, labels) != (None, None, None, TRUE_LABELS):
                raise SettingError(
                    "Batches of your own have a size, number, shape and labels already; batch_size, batches, "
                    "input_shape and labels are for inputs by name, such as 'synthetic'."
                )
            else:
                shown = input
            networks = score_models(target, requests, ModelSetting(shown, loss, logits, seed, device, repeats))
        scored = []
        for network in networks:
            watch(network)
            scored.append(network)
    return rank_networks(scored, requests, criterion)


def space(name: str) -> Space[Any]:
    """The search space of this name, or one of your own by `module:name`.

    >>> cell = firstlight.space("nasbench201").sample(random.Random(0))
    """
    return find_space(name)


def search(
    space: str | Space[Any],
    *,
    proxy: str | Proxy | None = None,
    algorithm: str | Algorithm = "random",
    samples: int | None = None,
    table: str | os.PathLike[str] | Table | None = None,
    target: str | None = None,
    data: str | None = None,
    epochs: int | None = None,
    recipe: TrainingRecipe | str | None = None,
    data_samples: int | None = None,
    queries: int | None = None,
    retrain: int | None = None,
    retrain_times: int = 1,
    retrain_random: int = 0,
    max_params: float | str | None = None,
    max_macs: float | str | None = None,
    min_params: float | str | None = None,
    min_macs: float | str | None = None,
    max_activations: float | str | None = None,
    max_memory: float | str | None = None,
    max_latency: float | str | None = None,
    objectives: str | Sequence[str] = (),
    latency: str = "measured",
    input: str | None = None,
    labels: str = "true",
    batch_size: int | None = None,
    batches: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    repeats: int = 1,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
    device: str | None = None,
    warmup: str | float | WarmUp | SharedWarmUp | None = None,
    out: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    same_versions: bool = False,
    watch: Callable[[Candidate], None] = lambda candidate: None,
) -> SearchResult:
    """Find the best network of a space under limits, without training any, or guided by a few short trainings.

    So many networks are scored as `samples` says, by default 500.

    `space` is a name, or a space of your own: the object, a name that it was registered under, or `module:name`.
    Worker processes import it, so that it must stand at the top level of a module; otherwise pass `workers=0`.

    With `out`, every score is kept in that folder and a run that was cut off continues where it was. With a `store`,
    scores are kept in that file, which several runs may share, even at the same time. What was stored by another
    version of PyTorch or another kind of processor is used, and told in the notes of the result; with `same_versions`
    it is computed again.

    `workers` is the number of processes, by default one for each core, and `executor` may be "ray", see
    docs/cluster.md; the result does not depend on either. A network that takes a worker longer than `timeout` seconds,
    or more memory than `max_worker_memory`, such as "4G", is given up, and so is one that crashes it; see
    docs/store.md. `watch` is told of each one as it is scored. Batches are as large and as many as the proxy takes,
    unless given; those of the steps of `nasi` and `nasi-ridge` are then as large, too, unless `nasi:batch=16` says
    otherwise.

    `proxy` is by default `dextr`, or what is usual for the algorithm or the space. It may be one of your own, as the
    object or as `module:name`, which worker processes import as they do a space; or an ensemble, such as "az_nas" or
    "log_rank(dextr,params)": then networks are judged by their ranks among all that were scored, which is known at the
    end.

    With a `warmup`, such as 0.1, "10%" or "10%:epochs=3:recipe=official", each network is trained on that share of the
    input's training data before proxies judge it; see docs/warm-up.md.

    Limits are checked before a network is built: parameters, MACs, activations and memory (bytes) are counted without
    weights, and `latency` says where milliseconds come from: "measured" (here, on one thread), "measured:threads=2",
    "onnx" (by ONNX Runtime) or "table:FILE:COLUMN". `objectives` names costs to be kept low besides the score, such as
    "macs,latency": the result then has a `front` of networks, none of which is beaten in everything by another.

    With `data`, such as "digits" or "folder:photos", networks are judged by what they reach when trained on it for so
    many `epochs`, or as a `recipe` says; with a `table` of trained networks by its column `target`. So many `queries`
    are made, by default 20. Algorithms such as "hnas" and "verify" let proxies choose what is asked about, who are
    shown the same data unless there is another `input` (without data: noise).

    Clicks as `data`, such as "criteo:FILE", are what proxies judge by; so many of the best as `retrain` says are then
    trained from scratch, `retrain_times` each, beside `retrain_random` networks and some made by hand: see `retrained`
    of the result.

    The result has the whole history as a table, `to_frame()`. Ctrl-C raises `SearchInterrupted`, a KeyboardInterrupt
    with the `result` of what was scored so far.

    >>> firstlight.search("nasbench201", samples=100, max_params="1.0M").best.architecture
    """
    check_source_name("input", input)
    check_source_name("data", data)
    # they bring pandas, slow to import
    from firstlight.evaluation.asking import read_count, read_criterion, truth_request
    from firstlight.evaluation.retraining import read_retrain

    wanted_retraining = read_retrain(
        data, retrain, times=retrain_times, random=retrain_random, recipe=recipe, epochs=epochs
    )
    clicks = data if data is not None and is_clicks(data) else None
    if clicks is not None:
        data, recipe, epochs = None, None, None
    wanted_truth = table is not None or data is not None
    request = AlgorithmRequest.parse(algorithm, batch_size=batch_size, for_queries=wanted_truth)
    warm_up = read_warm_up(warmup, find_space(space) if isinstance(space, str) else space)
    by = read_criterion(proxy, request, space, wanted_truth, warmed=warm_up is not None)
    source = source_for(asked_for(by), input or data or clicks or SYNTHETIC, batch_size, batches, labels)
    setting = make_setting(space, source, skeleton, seed, device, repeats, warm_up)
    truth = truth_request(
        setting, table=table, target=target, data=data, epochs=epochs, recipe=recipe, data_samples=data_samples
    )
    limits = parse_limits(
        max_params=max_params,
        max_macs=max_macs,
        min_params=min_params,
        min_macs=min_macs,
        max_activations=max_activations,
        max_memory=max_memory,
        max_latency=max_latency,
    )
    costs = read_costs(filter(None, objectives.split(",")) if isinstance(objectives, str) else objectives)
    count = read_count(samples, queries, wanted_truth, request)
    wanted = SearchSetting(setting, by, request, count, limits, costs, latency, truth)
    place = make_executor(workers, executor, timeout=timeout, max_worker_memory=max_worker_memory)
    return run_search(
        wanted,
        place,
        RunStore(None if out is None else Path(out), None if store is None else Path(store), same_versions),
        callback=lambda event: watch(event.item) if isinstance(event.item, Candidate) else None,
        afterwards=lambda result: wanted_retraining(result, place) if wanted_retraining else result,
    )
