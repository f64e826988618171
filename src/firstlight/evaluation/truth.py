"""True performance: looked up in a table, or measured by training.

Both have the interface of a `ScoreService`. An answer is a score whose value is the accuracy in percent, whose part
`epochs` is the fidelity, and whose seconds are those of the training.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firstlight.core.errors import SettingError, TableError, UnsupportedError
from firstlight.evaluation.seconds import TrainingTimes
from firstlight.evaluation.service import EvaluationService
from firstlight.execution.executor import Executor
from firstlight.probe import Probe
from firstlight.proxies.base import NetworkScore, Parts, Proxy, Score
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import with_cost
from firstlight.search.source import Source
from firstlight.spaces.base import Skeleton
from firstlight.spaces.in_space import InSpace
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store
from firstlight.tables.table import Table
from firstlight.tables.targets import Target
from firstlight.training.job import EvaluationSetting


def _unknown_untrained(probe: Probe) -> Parts:
    raise UnsupportedError("The true performance of a network is not known before it is trained.")


# In the place of a proxy: the one that is always right, and costs a training
TRUTH = ProxyRequest(Proxy("truth", _unknown_untrained, needs="labels"))


@dataclass(frozen=True)
class TableSetting(InSpace):
    """The space of a table. A table has no skeleton; limits and costs are those of the given one."""

    skeleton_settings: tuple[tuple[str, Any], ...] = ()

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        return self.space.skeleton(**dict(self.skeleton_settings))


@dataclass(frozen=True)
class TableTruth:
    """True performance, looked up in a table.

    Networks that compute the same function were trained separately. Their value is that of the canonical network, or of
    the first one if the table does not have it.

    Attributes:
        setting: The space.
        target: The column of the target.
        columns: The column of each fidelity, by its number of epochs.
        figures: The values of each column by the canonical text of the network.
        times: The durations of trainings, if they are known.
    """

    setting: TableSetting
    target: str
    columns: Mapping[int, str]
    figures: Mapping[str, Mapping[str, float]]
    times: TrainingTimes | None = None

    @property
    def networks(self) -> list[str]:
        """The canonical texts of all networks."""
        return list(self.figures[self.target])

    def __len__(self) -> int:
        return len(self.figures[self.target])

    @property
    def fidelities(self) -> tuple[int, ...]:
        return tuple(self.columns)

    def at(self, epochs: int) -> TableTruth:
        return dataclasses.replace(self, target=self.columns[epochs])

    def knows(self, architecture: str) -> bool:
        return architecture in self.figures[self.target]

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        epochs = Target.of_column(self.target).epochs
        parts = {"epochs": float(epochs)} if isinstance(epochs, int) else {}
        for text in dict.fromkeys(architectures):
            seconds = self.times.seconds(text, epochs) if self.times and isinstance(epochs, int) else math.nan
            score = Score(self.figures[self.target][text], parts, seconds=seconds)
            yield _answer(self, text, score, reused=True)

    def reached(self, architectures: Iterable[str], columns: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the values of columns for some networks, by text and column."""
        return {text: {column: self.figures[column][text] for column in columns} for text in architectures}


def read_truth(
    table: Table, setting: TableSetting, target: str, fidelities: Sequence[str], others: Sequence[str]
) -> TableTruth:
    """Read the networks with a value for the target; the other columns must have a value for all of them."""
    rows = table.join(setting.space, target).rows
    rows["exact"] = rows["architecture"] == rows["canonical"]
    rows = rows.sort_values("exact", ascending=False, kind="stable").drop_duplicates("canonical").set_index("canonical")
    figures = {target: dict(zip(rows.index, rows["value"], strict=True))}
    for column in dict.fromkeys([*fidelities, *others]):
        values = table.join(setting.space, column).rows.set_index("architecture")["value"]
        found = rows["architecture"].map(values)
        if missing := int(found.isna().sum()):
            raise TableError(
                f"{column} has no value for {missing:,} of the {len(rows):,} different networks of {table.origin} that "
                f"have one for {target}. Name complete columns with "
                f"{'--fidelities' if column in fidelities else '--report'}."
            )
        figures[column] = dict(zip(rows.index, found, strict=True))
    return TableTruth(setting, target, {_epochs(column): column for column in fidelities}, figures)


def usual_fidelities(table: Table, target: Target) -> list[str]:
    """Return the columns that differ from the target only in the number of epochs, fewest first, with the target."""
    alike = [
        other
        for other in table.targets()
        if (other.dataset, other.split, other.figure) == (target.dataset, target.split, target.figure)
        and isinstance(other.epochs, int)
    ]
    return [other.name for other in sorted(alike, key=lambda other: _epochs(other.name))]


def _epochs(column: str) -> int:
    epochs = Target.of_column(column).epochs
    if not isinstance(epochs, int):
        raise SettingError(f"The name of {column!r} does not state the number of epochs, as cifar10_val_12 does.")
    return epochs


@dataclass(frozen=True)
class TrainingTruth:
    """True performance, measured by training each network once; results are kept in the store.

    Attributes:
        setting: The data, the recipe and the space.
        epochs: The fidelities. A training of fewer epochs has its own schedule; it is not a part of a longer one.
        executor: Where networks are trained.
        store: Where results are kept.
    """

    setting: EvaluationSetting
    epochs: tuple[int, ...]
    executor: Executor
    store: Store

    @property
    def fidelities(self) -> tuple[int, ...]:
        return self.epochs

    @property
    def target(self) -> str:
        return f"{self.setting.source_name.partition(':')[0]}_val_{self.setting.recipe.epochs}"

    def __len__(self) -> int:
        return len(self.setting.space)

    def at(self, epochs: int) -> Source:
        recipe = dataclasses.replace(self.setting.recipe, epochs=epochs)
        return dataclasses.replace(self, setting=dataclasses.replace(self.setting, recipe=recipe))

    def knows(self, architecture: str) -> bool:
        return True

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        parts = {"epochs": float(self.setting.recipe.epochs)}
        for found in EvaluationService(self.setting, self.executor, self.store).evaluations(architectures):
            result = found.result
            if result.accuracy is None:
                score = Score.without_value("failed", _reason(result), result.seconds)
            else:
                score = Score(100 * result.accuracy, parts, seconds=result.seconds)
            yield _answer(self, found.architecture, score, found.reused)

    def reached(self, architectures: Iterable[str], columns: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the accuracies of some networks, most of which the store has; all columns are the target."""
        found = {network.architecture: network.scores[str(TRUTH)].value for network in self.scores(architectures)}
        return {text: dict.fromkeys(columns, value) for text, value in found.items()}


def _reason(result: TrainingResult) -> str:
    return result.note if result.status == "failed" else f"{result.status}: {result.note}"


def _answer(truth: TableTruth | TrainingTruth, text: str, score: Score, reused: bool) -> NetworkScore:
    """Return a score under the name of the objective, whatever the fidelity."""
    return with_cost(truth.setting, text, {str(TRUTH): score}, reused)
