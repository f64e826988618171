"""What methods compete in: whom they ask for the truth, what the best of each is judged by, what an answer costs."""

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
    """`report` are the figures that the best network is judged by. `seconds` says in words where seconds come from.

    Methods that ask a proxy show networks the `input`, and build them with `skeleton_settings`.
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
    """The truth of a table, and the columns to report. What is not named is chosen by the names of the columns."""
    asked = table.target(target) if target is not None else _usual_target(table)
    judged_by = list(report) if report else _usual_report(table) or [asked.name]
    levels = usual_fidelities(table, asked) if fidelities is None else list(fidelities)
    for name in (*judged_by, *levels):
        table.target(name)  # a column that is not there is refused before anything is read
    truth = read_truth(table, setting, asked.name, levels, judged_by)
    times = training_times(table, setting.space, asked, truth.networks, seconds)
    return replace(truth, times=times), tuple(judged_by)


def training_truth(
    setting: EvaluationSetting, fidelities: Sequence[int] | None, executor: Executor, store: Store
) -> TrainingTruth:
    levels = tuple(fidelities or (setting.recipe.epochs,))
    if list(levels) != sorted(set(levels)) or levels[0] < 1:
        raise SettingError(f"The fidelities are {list(levels)}; write ascending numbers of epochs, such as 1,3.")
    setting.skeleton  # noqa: B018 - data and skeleton are checked here, before any work starts
    return TrainingTruth(setting, levels, executor, store)


def _usual_target(table: Table) -> Target:
    """Validation accuracy after the fewest epochs, of the data set that comes first."""
    validated = [target for target in table.targets() if target.split == "val" and target.is_accuracy]
    if not validated:
        names = ", ".join(target.name for target in table.targets()) or "none"
        raise SettingError(f"No column of {table.origin} is a validation accuracy. Name one to search by: {names}.")
    own = [target for target in validated if target.dataset == validated[0].dataset]
    return min(own, key=lambda target: target.epochs if isinstance(target.epochs, int) else 10**9)


def _usual_report(table: Table) -> list[str]:
    """Test accuracy of each data set after the most epochs."""
    tested: dict[str | None, Target] = {}
    for target in table.targets():
        if target.split == "test" and target.is_accuracy and isinstance(target.epochs, int):
            known = tested.get(target.dataset)
            if known is None or target.epochs > (known.epochs if isinstance(known.epochs, int) else 0):
                tested[target.dataset] = target
    return [target.name for target in tested.values()]
