"""`firstlight.search`: the best network in a space within limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import MUCH_WORK, check_names, choose_executor, choose_source
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, plain, takes
from firstlight.options import (
    AUTO,
    Baselines,
    Compute,
    Inputs,
    Limits,
    Network,
    Retraining,
    Storage,
    Training,
    Truth,
    read_list,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firstlight.evaluation.baselines import Comparing
    from firstlight.proxies.base import Proxy
    from firstlight.search.algorithm import Algorithm
    from firstlight.search.result import SearchResult
    from firstlight.spaces.base import Space


@takes(Limits, Inputs, Network, Truth, Training, Retraining, Baselines, Compute, Storage)
def search(
    options: Options,
    space: str | Space[Any],
    *,
    proxy: str | Proxy | None = None,
    algorithm: str | Algorithm = "random",
    samples: int | None = None,
    queries: int | None = None,
    objectives: str | Sequence[str] = "",
    callback: Callback = ignore,
) -> SearchResult:
    """Find the best network in a space within limits, without training, or guided by a few short training runs.

    By default, networks are scored with a proxy. With `data`, they are evaluated by training them for a few epochs;
    with a `table`, by looking them up. Algorithms such as hnas and verify use proxies to choose which networks to
    evaluate.

    With a `baseline`, the best network and plain networks within the same limits are trained alike with several seeds
    and tested, and `compared` says whether the search helped.

    Worker processes import your own space, so define it at the top level of a module, or pass `workers=0`.

    Args:
        space: The search space: a name (`firstlight spaces` lists them), `module:name`, or the object.
        proxy: The proxy to maximize (or minimize, if lower is better): a name, `module:name`, the object, or an
            ensemble such as az_nas or log_rank(dextr,params). Default: that of the algorithm or the space, mostly
            dextr.
        algorithm: How to search, with settings after the name: evolution:population=32:generations=6.
            `firstlight algorithms` lists them all.
        samples: Number of networks to score. Default: 500.
        queries: Networks to evaluate, with data or a table. Default: 20.
        objectives: Costs to minimize while maximizing the score, such as macs,latency. The result is then a Pareto
            front.
        callback: Called with an `Event` as the search progresses.

    Returns:
        The best network, the whole history, and the cost of the search. With `out`, every score is stored in that
        folder, and the same call resumes an interrupted search.

    Raises:
        SettingError: Options that do not exist or contradict each other.
        LimitError: No network within the limits was found.
        SearchInterrupted: Ctrl-C; its `result` covers the networks scored so far.

    Example:
        >>> import firstlight
        >>> small = firstlight.Network(skeleton={"channels": 4, "cells": 1})
        >>> result = firstlight.search("nasbench201", proxy="params", samples=4, network=small, workers=0)
        >>> result.scored
        4
    """
    check_names(space=space, proxies=proxy, algorithm=algorithm)
    from firstlight.data.inputs import SYNTHETIC, check_source_name
    from firstlight.data.sources import data_kind
    from firstlight.evaluation.asking import read_count, read_criterion, truth_request
    from firstlight.evaluation.retraining import read_retrain
    from firstlight.proxies.ensembles import asked_for
    from firstlight.scoring.costs import read_costs
    from firstlight.scoring.service import make_setting
    from firstlight.search.algorithm import AlgorithmRequest
    from firstlight.search.run_folder import RunStore, default_directory
    from firstlight.search.runner import run_search
    from firstlight.search.setting import SearchSetting
    from firstlight.spaces.finding import find_space
    from firstlight.training.warm_up import read_warm_up

    inputs, network, limits, storage = options[Inputs], options[Network], options[Limits], options[Storage]
    training, truth, retraining = options[Training], options[Truth], options[Retraining]
    check_source_name("input", inputs.input)
    check_source_name("data", training.data)
    data, recipe, epochs = training.data, training.recipe, training.epochs
    retrain = read_retrain(
        data,
        retraining.retrain,
        times=retraining.retrain_times,
        random=retraining.retrain_random,
        recipe=recipe,
        epochs=epochs,
    )
    kind = None if data is None else data_kind(data)
    shown = data
    if kind is not None and kind.retrains:  # the data is for proxies, and for training the best afterwards
        data, recipe, epochs = None, None, None
    by_truth = truth.table is not None or data is not None
    request = AlgorithmRequest.parse(algorithm, batch_size=inputs.batch_size, for_queries=by_truth)
    warm_up = read_warm_up(inputs.warmup, find_space(space))
    by = read_criterion(proxy, request, space, by_truth, warmed=warm_up is not None)
    count = read_count(samples, queries, by_truth, request)
    source = choose_source(inputs, asked_for(by), shown or SYNTHETIC)
    setting = make_setting(
        space, source, network.skeleton_settings, network.only_seed, network.device, network.repeats, warm_up
    )
    asked = truth_request(
        setting,
        table=truth.table,
        target=None if truth.target is None else str(truth.target),
        data=data,
        epochs=epochs,
        recipe=recipe,
        data_samples=training.data_samples,
    )
    comparing = _comparing(options, asked)
    costs = read_costs(read_list(objectives))
    own = {"space": space, "proxy": proxy, "algorithm": algorithm, "samples": samples, "queries": queries}
    record = {
        name: plain(value) for name, value in (own | {"objectives": objectives or None}).items() if value is not None
    }
    wanted = SearchSetting(
        setting, by, request, count, limits, costs, limits.latency, asked, record | options.to_dict()
    )
    # evaluations and steps of a supernet cost far more than scores
    much = by_truth or retrain is not None or request.algorithm.searches_supernet
    place = choose_executor(options[Compute], callback, MUCH_WORK if much else count)
    folder = None
    if storage.out is not None:
        folder = default_directory(wanted) if storage.out == AUTO else Path(storage.out)
    shared = None if storage.store is None else Path(storage.store)
    return run_search(
        wanted,
        place,
        RunStore(folder, shared, storage.same_versions),
        callback=callback,
        afterwards=lambda result: (
            retrain(result, place, callback) if retrain else comparing(result, place, callback) if comparing else result
        ),
    )


def _comparing(options: Options, asked: Any) -> Comparing | None:
    """Return what the best network is compared with; None for nothing."""
    from firstlight.evaluation.asking import AskTraining
    from firstlight.evaluation.baselines import Comparing

    given = options[Baselines].names_or_models
    if not given:
        return None
    if not isinstance(asked, AskTraining):
        raise SettingError(
            f"baseline is {options[Baselines].baseline!r}, but networks are not trained here. Name images to train "
            "them on (--data folder:photos). With --retrain, a search has baselines of its own."
        )
    limits = options[Limits]
    return Comparing(given, options[Baselines].baseline_seeds, asked.setting, limits, limits.latency)
