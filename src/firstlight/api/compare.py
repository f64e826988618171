"""`firstlight.compare`: search methods side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names, choose_executor, choose_folder
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import (
    Baselines,
    Compute,
    Inputs,
    Judging,
    Network,
    Reporting,
    Storage,
    Training,
    Truth,
    read_list,
    read_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firstlight.evaluation.compare import Comparison
    from firstlight.evaluation.contest import Contest
    from firstlight.execution.executor import Executor
    from firstlight.spaces.base import Space
    from firstlight.storage.store import Store


@takes(Truth, Training, Reporting, Judging, Baselines, Inputs, Network, Compute, Storage)
def compare(
    options: Options,
    space: str | Space[Any],
    *,
    methods: str | Sequence[str] = "random,evolution,reinforce,bohb",
    queries: str | Sequence[int] = "20,50,100",
    seeds: int | Sequence[int] = 10,
    callback: Callback = ignore,
) -> Comparison:
    """Compare search methods: what they find after a number of queries, and at what cost.

    A query evaluates one network: it is looked up in a table, or trained on data. With data and a `baseline`, plain
    networks as large as the largest that was found are trained alike.

    Args:
        space: The search space.
        methods: Search algorithms with their settings, separated by commas: evolution:population=20. ALGORITHM@PROXY
            searches with a proxy instead; its queries are scored networks.
        queries: Numbers of queries after which to report the result, in ascending order.
        seeds: Number of runs of each method, or the seeds themselves.
        callback: Called with an `Event` as runs finish.

    Returns:
        What each method found, as means over the seeds. With `out`, all results are stored in that folder, together
        with a report page, the rows and all queries.

    Raises:
        SettingError: Options that do not exist or contradict each other.
        TableError: A table without such columns, or without networks of the space.

    Example:
        >>> import firstlight
        >>> found = firstlight.compare(
        ...     "nasbench201", methods="random", queries="2", seeds=1, data="digits@16", epochs=1, data_samples=100,
        ...     skeleton="channels=4,cells=1", workers=0)
        >>> len(found.runs)
        1
    """
    check_names(space=space)
    from firstlight.data.inputs import check_source_name
    from firstlight.evaluation.baselines import check_baselines
    from firstlight.evaluation.competition import run_methods
    from firstlight.evaluation.methods import parse_method, parse_methods
    from firstlight.storage.store import open_store
    from firstlight.views.pages.comparison import write_comparison

    training, truth, storage = options[Training], options[Truth], options[Storage]
    check_source_name("input", options[Inputs].input)
    check_source_name("data", training.data)
    if (truth.table is None) == (training.data is None):
        raise SettingError("Give either a table of trained networks (--table), or data to train them on (--data).")
    plain = options[Baselines].names_or_models
    check_baselines(plain)
    if plain and training.data is None:
        raise SettingError(
            f"baseline is {options[Baselines].baseline!r}, but a table does not tell how to train it. Name data to "
            "train networks on (--data digits) instead of the table."
        )
    parsed = parse_methods(methods) if isinstance(methods, str) else [parse_method(text) for text in methods]
    steps = read_numbers("queries", queries)
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    source = training.data if truth.table is None else str(getattr(truth.table, "origin", truth.table))
    title = space if isinstance(space, str) else space.name
    folder = choose_folder(storage, f"compare-{title}-{Path(str(source).rpartition(':')[2]).stem}")
    place = choose_executor(options[Compute], callback)
    with open_store(folder, same_versions=storage.same_versions) as store:
        fidelities = any(method.asks_fidelities for method in parsed)
        contest, origin = _contest(options, space, place, store, fidelities=fidelities)
        within = options[Reporting].within
        against = options[Judging].against
        result = run_methods(contest, parsed, steps, numbers, within=within, against=against, callback=callback)
        if plain:
            result = _with_baselines(result, contest, options[Baselines])
        result = replace(result, remarks=(*result.remarks, *store.remarks()), directory=folder)
    if folder is not None:
        described = {
            "space": contest.truth.setting.space_name,
            **origin,
            "networks are searched by": result.target,
            "queries": ", ".join(map(str, steps)),
            "seeds": ", ".join(map(str, numbers)),
        }
        write_comparison(result, described, folder)
    return result


def _with_baselines(result: Comparison, contest: Contest, asked: Baselines) -> Comparison:
    """Return the result with baselines that are as large as the largest network that was found."""
    from firstlight.evaluation.truth import TrainingTruth
    from firstlight.evaluation.validated import validate_beside

    assert isinstance(contest.truth, TrainingTruth)
    setting, models, seeds = contest.truth.setting, asked.names_or_models, asked.baseline_seeds
    found = validate_beside(result.figures, setting, models, seeds, contest.executor, contest.store)
    return replace(result, baselines=found, remarks=(*result.remarks, *(f"{entry!s}." for entry in found)))


def _contest(
    options: Options, space: str | Space[Any], place: Executor, store: Store, *, fidelities: bool
) -> tuple[Contest, dict[str, str]]:
    """Return what methods compete in, and how a report describes it."""
    from firstlight.evaluation.contest import Contest, table_truth, training_truth
    from firstlight.evaluation.truth import TableSetting
    from firstlight.spaces.in_space import in_space
    from firstlight.tables.table import Table, load_table
    from firstlight.training.job import EvaluationSetting
    from firstlight.training.recipes import read_recipe

    training, truth, reporting, network = options[Training], options[Truth], options[Reporting], options[Network]
    input, surroundings = options[Inputs].input, tuple(sorted(network.skeleton_settings.items()))
    if truth.table is not None:
        table = truth.table if isinstance(truth.table, Table) else load_table(Path(truth.table))
        report = None if reporting.report is None else read_list(reporting.report)
        levels = None if reporting.fidelities is None else read_list(reporting.fidelities)
        found, judged_by = table_truth(
            table,
            TableSetting(**in_space(space)),
            None if truth.target is None else str(truth.target),
            report,
            levels if fidelities else (),
            reporting.seconds,
        )
        costs = None if found.times is None else found.times.origin
        contest = Contest(found, judged_by, costs, place, store, input or "synthetic", surroundings, network.device)
        return contest, {"table": table.origin}
    assert training.data is not None
    recipe = read_recipe(training.recipe, training.epochs).recipe
    setting = EvaluationSetting(
        **in_space(space),
        source_name=training.data,
        recipe=recipe,
        skeleton_settings=surroundings,
        samples=training.data_samples,
        device=network.device,
    )
    epochs = None if reporting.fidelities is None else read_numbers("fidelities", reporting.fidelities)
    trained = training_truth(setting, epochs, place, store)
    contest = Contest(
        trained, (trained.target,), "measured", place, store, input or training.data, surroundings, network.device
    )
    return contest, {"data": training.data, "training": str(recipe), "skeleton": str(setting.skeleton)}
