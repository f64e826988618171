"""Accuracies of the networks that searches found, looked up in a table, and controls to compare them with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from firstlight.core.statistics import FEWEST, Numbers
from firstlight.evaluation.truth import TableSetting, read_truth
from firstlight.papers.base import ACCURACY, Finding, Published
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import Lab
from firstlight.spaces import SPACES
from firstlight.spaces.in_space import in_space


@dataclass(frozen=True)
class Lookup:
    """Accuracies of one benchmark in percent, or `errors` if that is what the paper gives."""

    lab: Lab
    benchmark: Benchmark
    errors: bool = False

    def mean(self, what: str, architectures: Sequence[str], published: Published | None = None) -> Finding:
        """Return the mean over searches, each of which found one network. Networks not in the table are left out."""
        return self._line(what, self._reached(architectures), published)

    def difference(self, what: str, architectures: Sequence[str], others: Sequence[str]) -> Finding:
        """Return the mean difference between searches of the same seed."""
        return self._line(what, self._reached(architectures) - self._reached(others))

    @property
    def known(self) -> list[str]:
        """The canonical texts of the networks in the table."""
        return list(self._figures)

    def best_of(self, architectures: Sequence[str]) -> str:
        """Return the best network. Networks not in the table are left out."""
        return max((text for text in architectures if text in self._figures), key=self._utility)

    def of(self, text: str) -> float:
        """Return the accuracy, or the error, of a network."""
        return self._figures[text]

    def _utility(self, text: str) -> float:
        return -self._figures[text] if self.errors else self._figures[text]

    def controls(self) -> list[Finding]:
        """Return the means of cells that need no search: convolutions only, and any operations but `none`."""
        return [
            self._control("control: cells of convolutions only", lambda operation: "conv" in operation),
            self._control("control: random cells without none", lambda operation: operation != "none"),
        ]

    def _line(self, what: str, values: Numbers, published: Published | None = None) -> Finding:
        known = values[np.isfinite(values)]
        note = f"{len(known)} of {len(values)} searches"
        if len(known) > 1:
            note += f", deviation {known.std(ddof=1):.2f}"
        if 0 < len(known) < FEWEST:
            note += f", mean {known.mean():.2f}"
        ours = self.lab.estimate(lambda column: float(column.mean()), values)
        return Finding(f"{what}: {self._unit}", self.benchmark.name, ours, published, ACCURACY, note)

    def _control(self, what: str, allowed: Callable[[str], bool]) -> Finding:
        chosen = self._rows[[all(map(allowed, operations)) for operations in self._rows["operations"]]]
        values, classes = chosen["value"].tolist(), chosen["canonical"].tolist()
        return self.lab.mean(f"{what}: {self._unit}", self.benchmark.name, values, classes=classes)

    @property
    def _unit(self) -> str:
        return "error, %" if self.errors else "accuracy, %"

    def _reached(self, architectures: Sequence[str]) -> Numbers:
        return np.array([self._figures.get(text, np.nan) for text in architectures])

    @functools.cached_property
    def _figures(self) -> dict[str, float]:
        """The accuracies or errors by the canonical text of each class of networks."""
        column = self.lab.data.column(self.benchmark)
        setting = TableSetting(**in_space(self.benchmark.space))
        figures = read_truth(self.lab.data.table(self.benchmark), setting, column, (), ()).figures[column]
        return dict(zip(figures, self._in_unit(np.array(list(figures.values()))), strict=True))

    @functools.cached_property
    def _rows(self) -> pd.DataFrame:
        """All networks of the table with their operations."""
        space, column = SPACES[self.benchmark.space], self.lab.data.column(self.benchmark)
        rows = self.lab.data.table(self.benchmark).join(space, column).rows
        operations = [space.parse(text).operations for text in rows["architecture"]]
        return rows.assign(value=self._in_unit(rows["value"].to_numpy(dtype=float)), operations=operations)

    def _in_unit(self, accuracies: Numbers) -> Numbers:
        percent = in_percent(accuracies)
        return 100 - percent if self.errors else percent


def in_percent(accuracies: Numbers) -> Numbers:
    """Return accuracies in percent; some tables have fractions."""
    return accuracies * (100 if np.nanmax(accuracies) <= 1 else 1)


def few_seeds_remark(lab: Lab) -> Iterator[str]:
    """Yield a remark if there are too few seeds for an interval."""
    if len(lab.seeds) < FEWEST:
        given = f"{len(lab.seeds)} {'was' if len(lab.seeds) == 1 else 'were'} given"
        yield f"An interval needs {FEWEST} seeds, and {given}: the notes give the mean, without a verdict."
