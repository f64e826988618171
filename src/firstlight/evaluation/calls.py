"""The calls that look at the truth: a table of trained networks, or a few trained on one's own data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from firstlight.core.errors import SettingError
from firstlight.data.inputs import TRUE_LABELS, check_source_name
from firstlight.evaluation.compare import Comparison, run_methods
from firstlight.evaluation.contest import Contest, table_truth, training_truth
from firstlight.evaluation.correlate import Study, draw_sample, study
from firstlight.evaluation.methods import parse_method, parse_methods
from firstlight.evaluation.trust import Trust, train_and_compare
from firstlight.evaluation.truth import TableSetting
from firstlight.execution.executor import LOCAL, Executor, make_executor
from firstlight.proxies.base import Proxies
from firstlight.proxies.requests import parse_requests, read_requests
from firstlight.scoring.service import make_setting, source_for
from firstlight.spaces.base import Space
from firstlight.spaces.finding import find_space
from firstlight.spaces.in_space import in_space
from firstlight.storage.store import open_store
from firstlight.tables.table import Table, load_table
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp, read_warm_up
from firstlight.views.pages.comparison import write_comparison
from firstlight.views.pages.correlation import write_correlation
from firstlight.views.pages.trust import write_trust

# How many networks of a table are compared unless said otherwise
USUAL_SAMPLES = 300


def correlate(
    space: str | Space[Any],
    table: Table | str | os.PathLike[str],
    target: str | Sequence[str],
    *,
    proxies: Proxies = "dextr",
    samples: int | Literal["all"] | None = None,
    first: int | None = None,
    exact: bool = False,
    ensemble: bool = False,
    input: str = "synthetic",
    labels: str = "true",
    batch_size: int | None = None,
    batches: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int | Sequence[int] = 0,
    repeats: int = 1,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
    device: str | None = None,
    warmup: str | float | WarmUp | SharedWarmUp | None = None,
    out: str | os.PathLike[str] | None = None,
    same_versions: bool = False,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Study:
    """Compare proxies with the true figures of a table: how well do they rank its networks?

    `samples` networks are drawn at random (by default 300, if there are so many), or "all" or the `first` rows are
    taken. Networks that compute the same function share the score of one of them, unless each is to be scored `exact`ly
    as it is written, idle layers and all; intervals account for it. With several seeds the first decides the sample,
    and each gives other weights and inputs. With `out`, all scores are kept in that folder, so that asking again or for
    more computes only what is new; it also gets a report, the statistics and the scores. `ensemble` puts the choice of
    a few proxies together into these. `watch` is told how many of how many scores are done. `timeout`,
    `max_worker_memory` and `same_versions` are those of `search`.

    With a `warmup`, such as 0.1, "10%" or "10%:epochs=3:recipe=official", each network is trained on that share of the
    input's training data before proxies judge it; see docs/warm-up.md.

    >>> found = firstlight.correlate("nasbench201", "nb201.parquet", "cifar10_test_200", proxies="dextr,params")
    >>> found.quality["cifar10_test_200"]["dextr"].estimates["spearman"]
    """
    found_space = find_space(space) if isinstance(space, str) else space
    warm_up = read_warm_up(warmup, found_space)
    requests = read_requests(proxies, found_space.shown if warm_up else None)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError(f"The seeds are {seeds}; give one, or several different ones.")
    source = source_for(requests, input, batch_size, batches, labels)
    settings = [make_setting(space, source, skeleton, number, device, repeats, warm_up) for number in seeds]
    settings[0].check()
    found = table if isinstance(table, Table) else load_table(Path(table))
    targets = [target] if isinstance(target, str) else list(target)
    if samples is None and first is None:
        samples = min(USUAL_SAMPLES, found.frame["architecture"][found.values(targets[0]).index].nunique())
    count = None if samples == "all" else samples
    sample = draw_sample(found, settings[0], targets, samples=count, first=first, exact=exact)
    directory = None if out is None else Path(out)
    place = make_executor(workers, executor, timeout=timeout, max_worker_memory=max_worker_memory)
    with open_store(directory, same_versions=same_versions) as store, place.staying():
        result = study(sample, settings, requests, place, store, watch=watch)
        result = replace(result, remarks=tuple(filter(None, (source.remark, *store.remarks()))))
    if directory is not None:
        described = {
            "space": settings[0].space_name,
            "skeleton": str(settings[0].skeleton),
            "table": found.origin,
            "samples": f"first {first} rows" if first else "all" if samples == "all" else f"{samples} at random",
            "networks": "each as it is written" if exact else "those that compute the same share a score",
            "input": f"{source.name}, {source.batches} x {source.batch_size}",
            **({} if labels == TRUE_LABELS else {"labels": labels}),
            **({} if warm_up is None else {"warm-up": str(warm_up)}),
            "seeds": ", ".join(map(str, seeds)),
            "repeats": repeats,
            **_told(result.remarks),
        }
        write_correlation(result, described, directory, ensemble=ensemble)
    return result


def _told(remarks: Sequence[str]) -> dict[str, str]:
    return {"remarks": " ".join(remarks)} if remarks else {}


def trust(
    space: str | Space[Any],
    data: str,
    *,
    train: int = 24,
    epochs: int = 3,
    proxies: Proxies = "all",
    recipe: TrainingRecipe | None = None,
    data_samples: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    same_versions: bool = False,
    watch_training: Callable[[int, int], None] = lambda done, total: None,
    watch_scoring: Callable[[int, int], None] = lambda done, total: None,
) -> Trust:
    """Find out which proxy to trust on your own data: train a few networks briefly, and see who foretold it.

    `data` is `digits`, `npz:PATH`, `folder:PATH` or a name in $FIRSTLIGHT_DATA; `train` random networks are trained for
    `epochs` epochs by `recipe`, each once if `out` names a folder to keep results in. A smaller `skeleton` makes it
    faster. The advice says which proxy or ensemble to use, how well it can be expected to rank networks it was not
    chosen by, and whether the sample is too small to tell. `timeout` is for a training or the scores of a network;
    it, `max_worker_memory` and `same_versions` are those of `search`.

    >>> firstlight.trust("nasbench201", "digits", skeleton={"channels": 4, "cells": 1}).advice.choice
    """
    check_source_name("data", data)
    requests = parse_requests(proxies)
    how = replace(recipe or TrainingRecipe(), epochs=epochs)
    settings = tuple(sorted((skeleton or {}).items()))
    training = EvaluationSetting(
        **in_space(space),
        source_name=data,
        recipe=how,
        seed=seed,
        skeleton_settings=settings,
        samples=data_samples,
        device=device,
    )
    source = source_for(requests, data)
    there = len(training.dataset.x_train) + len(training.dataset.x_val)
    source = source.fitting(there)
    scoring = make_setting(space, source, skeleton, seed, device, 1)
    directory = None if out is None else Path(out)
    place = make_executor(workers, executor, timeout=timeout, max_worker_memory=max_worker_memory)
    with open_store(directory, same_versions=same_versions) as store, place.staying():
        found = train_and_compare(
            training,
            scoring,
            requests,
            train,
            place,
            store,
            watch_training=watch_training,
            watch_scoring=watch_scoring,
        )
        remarks = tuple(filter(None, (source.remark, *store.remarks())))
        found = replace(found, study=replace(found.study, remarks=remarks))
    if directory is not None:
        described = {
            "space": training.space_name,
            "skeleton": str(training.skeleton),
            "data": f"{data}: {len(training.dataset.x_train)} to learn from, {len(training.dataset.x_val)} to judge by",
            "training": str(how),
            "seed": seed,
            **_told(found.study.remarks),
        }
        write_trust(found, described, directory)
    return found


def compare(
    space: str | Space[Any],
    table: Table | str | os.PathLike[str] | None = None,
    *,
    methods: str | Sequence[str] = "random,evolution,reinforce,bohb",
    queries: Sequence[int] = (20, 50, 100),
    seeds: int | Sequence[int] = 10,
    target: str | None = None,
    report: Sequence[str] | None = None,
    fidelities: Sequence[Any] | None = None,
    seconds: str | None = None,
    within: float | None = None,
    data: str | None = None,
    epochs: int = 3,
    recipe: TrainingRecipe | None = None,
    data_samples: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    input: str | None = None,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    same_versions: bool = False,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Let search methods compete: what has each found after so many queries, and what did that cost?

    A query asks what a network reaches: in the column `target` of a `table`, by default its validation accuracy after
    the fewest epochs; or, with `data`, by training it for `epochs` epochs. `methods` are search algorithms with their
    settings, or `random@dextr`, a search by a proxy, whose queries are networks scored. The best network of each is
    judged by the columns `report`. `fidelities` are what bohb chooses from: columns, or numbers of epochs. `seconds`
    names the table's column of training times, and `within` a budget of them to report at as well. With `out`, all
    results are kept in that folder, and a page, the rows and all queries are written to it. `timeout`,
    `max_worker_memory` and `same_versions` are those of `search`.

    >>> found = firstlight.compare("nasbench201", "nb201.parquet", methods="random,evolution", queries=(20, 50))
    >>> print(found.table())
    """
    check_source_name("input", input)
    check_source_name("data", data)
    parsed = parse_methods(methods) if isinstance(methods, str) else [parse_method(text) for text in methods]
    directory = None if out is None else Path(out)
    place = make_executor(workers, executor, timeout=timeout, max_worker_memory=max_worker_memory)
    surroundings = tuple(sorted((skeleton or {}).items()))
    with open_store(directory, same_versions=same_versions) as store:
        if table is not None and data is None:
            found = table if isinstance(table, Table) else load_table(Path(table))
            levels = fidelities if any(method.asks_fidelities for method in parsed) else ()
            truth, judged_by = table_truth(found, TableSetting(**in_space(space)), target, report, levels, seconds)
            costs = None if truth.times is None else truth.times.origin
            origin = {"table": found.origin}
            contest = Contest(truth, judged_by, costs, place, store, input or "synthetic", surroundings, device)
        elif data is not None and table is None:
            how = replace(recipe or TrainingRecipe(), epochs=epochs)
            training = EvaluationSetting(
                **in_space(space),
                source_name=data,
                recipe=how,
                skeleton_settings=surroundings,
                samples=data_samples,
                device=device,
            )
            trained = training_truth(training, fidelities, place, store)
            origin = {"data": data, "training": str(how), "skeleton": str(training.skeleton)}
            judged_by = (trained.target,)
            contest = Contest(trained, judged_by, "measured", place, store, input or data, surroundings, device)
        else:
            raise SettingError("Give either a table of trained networks (--table), or data to train them on (--data).")
        numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        result = run_methods(contest, parsed, queries, numbers, within=within, watch=watch)
        result = replace(result, remarks=(*result.remarks, *store.remarks()))
    if directory is not None:
        described = {
            "space": contest.truth.setting.space_name,
            **origin,
            "networks are searched by": result.target,
            "queries": ", ".join(map(str, queries)),
            "seeds": ", ".join(map(str, numbers)),
        }
        write_comparison(result, described, directory)
    return result
