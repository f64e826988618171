"""The contest of methods: the true values, what the best network is judged by, and what a query costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from firstlight.core.errors import SettingError
from firstlight.evaluation.seconds import training_times
from firstlight.evaluation.truth import TableSetting, TableTruth, TrainingTruth, read_truth, usual_fidelities
from firstlight.execution.executor import Executor
from firstlight.storage.store import Store
from firstlight.tables.table import Table
from firstlight.tables.targets import Target
from firstlight.training.job import EvaluationSetting


@dataclass(frozen=True)
class Contest:
    """What methods compete in.

    Attributes:
        truth: The true values.
        report: The columns by which the best network is judged.
        seconds: Where durations come from, in words; None if they are unknown.
        executor: Where networks are scored and trained.
        store: Where scores and trainings are kept.
        input: What proxies are shown.
        skeleton_settings: The skeleton of networks that proxies score.
        device: The device on which they score them.
    """

    truth: TableTruth | TrainingTruth
    report: tuple[str, ...]
    seconds: str | None
    executor: Executor
    store: Store
    input: str = "synthetic"
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None


def table_truth(
    table: Table,
    setting: TableSetting,
    target: str | None = None,
    report: Sequence[str] | None = None,
    fidelities: Sequence[str] | None = None,
    seconds: str | None = None,
) -> tuple[TableTruth, tuple[str, ...]]:
    """Return the true values of a table, and the columns to report. What is not given is chosen by column names."""
    asked = table.target(target) if target is not None else _usual_target(table)
    judged_by = list(report) if report else _usual_report(table) or [asked.name]
    levels = usual_fidelities(table, asked) if fidelities is None else list(fidelities)
    for name in (*judged_by, *levels):
        table.target(name)  # raises for a missing column, before anything is read
    truth = read_truth(table, setting, asked.name, levels, judged_by)
    times = training_times(table, setting.space, asked, truth.networks, seconds)
    return replace(truth, times=times), tuple(judged_by)


def training_truth(
    setting: EvaluationSetting, fidelities: Sequence[int] | None, executor: Executor, store: Store
) -> TrainingTruth:
    """Return true values by training; `fidelities` are numbers of epochs."""
    levels = tuple(fidelities or (setting.recipe.epochs,))
    if list(levels) != sorted(set(levels)) or levels[0] < 1:
        raise SettingError(f"The fidelities are {list(levels)}; write ascending numbers of epochs, such as 1,3.")
    setting.skeleton  # noqa: B018 - checks data and skeleton before any work starts
    return TrainingTruth(setting, levels, executor, store)


def _usual_target(table: Table) -> Target:
    """Return the validation accuracy after the fewest epochs, on the first data set."""
    validated = [target for target in table.targets() if target.split == "val" and target.is_accuracy]
    if not validated:
        names = ", ".join(target.name for target in table.targets()) or "none"
        raise SettingError(f"No column of {table.origin} is a validation accuracy. Name a target: {names}.")
    own = [target for target in validated if target.dataset == validated[0].dataset]
    return min(own, key=lambda target: target.epochs if isinstance(target.epochs, int) else 10**9)


def _usual_report(table: Table) -> list[str]:
    """Return the test accuracy on each data set after the most epochs."""
    tested: dict[str | None, Target] = {}
    for target in table.targets():
        if target.split == "test" and target.is_accuracy and isinstance(target.epochs, int):
            known = tested.get(target.dataset)
            if known is None or target.epochs > (known.epochs if isinstance(known.epochs, int) else 0):
                tested[target.dataset] = target
    return [target.name for target in tested.values()]
