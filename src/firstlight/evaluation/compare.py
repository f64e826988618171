"""Comparison of search methods over several seeds: the best network after N queries or seconds."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.statistics import Estimate, estimate, finite, resampled
from firstlight.evaluation.methods import Query
from firstlight.evaluation.validated import Validated
from firstlight.search.curves import Against, Curve, mean_curves


@dataclass(frozen=True)
class Run:
    """A run of a method with one seed.

    Attributes:
        method: The method with its settings.
        seed: The seed.
        queries: The queries in their order.
    """

    method: str
    seed: int
    queries: tuple[Query, ...]

    @cached_property
    def incumbents(self) -> list[Query | None]:
        """The best query so far after each query: the highest value among those of most epochs; ties keep the first."""
        best: Query | None = None
        return [best := _better(best, query) for query in self.queries]

    @cached_property
    def elapsed(self) -> list[float]:
        """Total seconds after each query; NaN from the first query of unknown duration."""
        spent = (math.nan if query.seconds is None else query.seconds for query in self.queries)
        return list(itertools.accumulate(spent))

    def after(self, count: int) -> int:
        """Return how many of `count` queries were made; a method may end early, when nothing new is left."""
        return min(count, len(self.queries))

    def within(self, seconds: float) -> int:
        """Return how many queries fit into `seconds`."""
        return bisect_right(self.elapsed, seconds)


def _better(best: Query | None, query: Query) -> Query | None:
    if query.value is None:
        return best
    if best is None or best.value is None:
        return query
    return query if (query.epochs or 0, query.value) > (best.epochs or 0, best.value) else best


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over the seeds; the deviation of a single seed is None."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Compute both from values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 and all(map(math.isfinite, values)) else None)

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "-"
        return f"{self.mean:,.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")

    def to_dict(self) -> dict[str, float | None]:
        return {"mean": finite(self.mean), "std": self.deviation}


@dataclass(frozen=True)
class Row:
    """The best network of a method at some point.

    Attributes:
        method: The method with its settings.
        point: After how many queries or seconds, in words.
        queries: The number of queries.
        figures: The reported results of the best network, by column.
        value: The value that the method has seen of it.
        epochs: The numbers of epochs of the best networks.
        seconds: The seconds of all queries.
        regret: By how much the first reported result misses the best of the table; None if there is no table.
        ahead: The first reported result minus that of the method that others are compared with, seed by seed, with the
            95 % interval over the seeds; None for that method itself, and if there is none.
    """

    method: str
    point: str
    queries: Spread
    figures: Mapping[str, Spread]
    value: Spread
    epochs: tuple[int, ...]
    seconds: Spread
    regret: Spread | None = None
    ahead: Estimate | None = None


@dataclass(frozen=True)
class Comparison:
    """The runs of several methods; the result of `firstlight.compare`.

    Attributes:
        target: What methods maximize.
        report: The columns by which the best network is judged.
        queries: After how many queries.
        runs: The runs of each method.
        figures: The reported results of every network that was the best of a run at some time, by text and column.
        seconds: Where durations come from, in words; None if they are unknown.
        within: After how many seconds, if asked for.
        remarks: Notes on the results.
        best: The best value of the first reported column in the table; None if there is no table.
        against: The method that the others are compared with, seed by seed; "" for none.
        baselines: Plain networks as large as the largest that was found, trained alike.

    Example:
        >>> from firstlight.evaluation.compare import Comparison, Run
        >>> from firstlight.evaluation.methods import Query
        >>> run = Run("random", 0, (Query("a", 90.0, 12, None), Query("b", 92.0, 12, None)))
        >>> found = Comparison("val", ("test",), (2,), {"random": [run]}, {"a": {"test": 91.0}, "b": {"test": 93.0}})
        >>> str(found.rows[0].figures["test"])
        '93.00'
    """

    target: str
    report: tuple[str, ...]
    queries: tuple[int, ...]
    runs: Mapping[str, Sequence[Run]]
    figures: Mapping[str, Mapping[str, float]]
    seconds: str | None = None
    within: float | None = None
    remarks: tuple[str, ...] = ()
    directory: Path | None = None
    best: float | None = None
    against: str = ""
    baselines: tuple[Validated, ...] = ()

    @cached_property
    def labels(self) -> dict[str, str]:
        """A short name for each method."""
        return short_labels(self.runs)

    @cached_property
    def rows(self) -> list[Row]:
        """For each method, a row for each number of queries, and one for the seconds that were asked for."""
        rows = []
        for method in self.runs:
            for count in self.queries:
                rows.append(self._row(method, f"{count} queries", partial(Run.after, count=count)))
            if self.within is not None:
                rows.append(self._row(method, f"{self.within:,.0f} s", partial(Run.within, seconds=self.within)))
        return rows

    def _row(self, method: str, point: str, count_of: Callable[[Run], int]) -> Row:
        counts = [count_of(run) for run in self.runs[method]]
        reached = list(zip(self.runs[method], counts, strict=True))
        best = [run.incumbents[count - 1] if count else None for run, count in reached]
        values = [math.nan if query is None or query.value is None else query.value for query in best]
        first = [self.figure(query, self.report[0]) for query in best]
        return Row(
            method,
            point,
            Spread.of(counts),
            {column: Spread.of([self.figure(query, column) for query in best]) for column in self.report},
            Spread.of(values),
            tuple(sorted({query.epochs for query in best if query and query.epochs is not None})),
            Spread.of([run.elapsed[count - 1] if count else 0.0 for run, count in reached]),
            None if self.best is None else Spread.of([self.best - value for value in first]),
            self._ahead(method, first, count_of),
        )

    def _ahead(self, method: str, figures: Sequence[float], count_of: Callable[[Run], int]) -> Estimate | None:
        if not self.against or method == self.against or len(figures) < 2:
            return None
        others = [(run, count_of(run)) for run in self.runs[self.against]]
        other = [self.figure(run.incumbents[count - 1] if count else None, self.report[0]) for run, count in others]
        leads = np.array(figures) - np.array(other)
        drawn = [float(leads[rows].mean()) for rows in resampled(len(leads), seed=0)]
        return None if np.isnan(leads).any() else estimate(float(leads.mean()), drawn)

    def figure(self, incumbent: Query | None, column: str) -> float:
        """Return a reported result of the best network; NaN if there is none."""
        return math.nan if incumbent is None else self.figures[incumbent.architecture][column]

    def table(self) -> pd.DataFrame:
        """Return the rows as a data frame, with mean and deviation in separate columns."""
        flat = []
        for row in self.rows:
            entry: dict[str, Any] = {"method": row.method, "after": row.point}
            for name, spread in (
                ("queries", row.queries),
                *row.figures.items(),
                ("best_value", row.value),
                ("seconds", row.seconds),
            ):
                entry |= {name: spread.mean, f"{name}_std": spread.deviation}
            if row.regret is not None:
                entry |= {"regret": row.regret.mean, "regret_std": row.regret.deviation}
            if self.against:
                ahead = row.ahead
                entry |= {"ahead": ahead and ahead.value, "ahead_low": ahead and ahead.low}
                entry |= {"ahead_high": ahead and ahead.high}
            flat.append(entry | {"epochs": " ".join(map(str, row.epochs))})
        return pd.DataFrame(flat)

    def log(self) -> pd.DataFrame:
        """Return every query of every run, with the best network so far and its reported results."""
        entries = []
        for run in itertools.chain.from_iterable(self.runs.values()):
            steps = zip(run.queries, run.incumbents, run.elapsed, strict=True)
            for number, (query, best, elapsed) in enumerate(steps, start=1):
                asked = {"architecture": query.architecture, "epochs": query.epochs, "value": query.value}
                cost = {"seconds": query.seconds, "elapsed": elapsed}
                found = {"best": best and best.architecture} | {name: self.figure(best, name) for name in self.report}
                entries.append({"method": run.method, "seed": run.seed, "query": number} | asked | cost | found)
        return pd.DataFrame(entries)

    def curves(self, column: str, against: Against = "queries") -> list[Curve]:
        """Return a result over queries or seconds for each method; none if seconds are unknown."""
        if against == "seconds" and not self.seconds:
            return []
        return mean_curves(self.log(), column, against)

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {
                "method": row.method,
                "after": row.point,
                "queries": row.queries.to_dict(),
                "figures": {column: spread.to_dict() for column, spread in row.figures.items()},
                "best_value": row.value.to_dict(),
                "epochs": list(row.epochs),
                "seconds": row.seconds.to_dict(),
                **({} if row.regret is None else {"regret": row.regret.to_dict()}),
                **(
                    {} if row.ahead is None else {"ahead": row.ahead.value, "ahead_ci": [row.ahead.low, row.ahead.high]}
                ),
            }
            for row in self.rows
        ]
        seeds = {method: [run.seed for run in runs] for method, runs in self.runs.items()}
        return {
            "target": self.target,
            "report": list(self.report),
            "seeds": seeds,
            "seconds": self.seconds,
            **({"against": self.against} if self.against else {}),
            **({"baselines": [entry.to_dict() for entry in self.baselines]} if self.baselines else {}),
            "remarks": list(self.remarks),
            "rows": rows,
        }


def short_labels(methods: Iterable[str]) -> dict[str, str]:
    """Return each method without its settings, where that is unambiguous."""
    texts = list(methods)
    names = [method.partition(":")[0] for method in texts]
    return {
        method: name if names.count(name) == 1 and "@" not in method else method
        for method, name in zip(texts, names, strict=True)
    }
