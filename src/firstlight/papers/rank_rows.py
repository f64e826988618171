"""Tables of rank correlations: one row for each proxy, one column for each benchmark."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev

import numpy as np

from firstlight.core.statistics import STATISTICS, Groups, Numbers, Statistic, unscored_last
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Finding, Findings, Published
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import Lab
from firstlight.papers.published import PublishedTable

Utilities = Mapping[str, Numbers]
# Combines the scores of several proxies; higher is better. A formula with free numbers may choose them by the accuracy
# of half the networks, which then have no value (NaN) in the result
Formula = Callable[[Utilities, "Known"], Numbers]


@dataclass(frozen=True)
class Known:
    """What a formula may use beside scores: the accuracy and the class of each network, and the seed of the study."""

    truth: Numbers
    groups: Groups
    seed: int


@dataclass(frozen=True)
class RankRow:
    """A row of a table of rank correlations.

    Attributes:
        name: The name of the row in the findings.
        asks: The proxies to measure.
        published: The row of the published table that it is compared with; "" for none.
        formula: Combines the scores of the proxies; None takes the first one's.
        cost_factor: How much more the proxies cost than others. They are measured on that many times fewer networks.
    """

    name: str
    asks: tuple[str, ...]
    published: str = ""
    formula: Formula | None = None
    cost_factor: int = 1

    def values(self, utilities: Utilities, known: Known) -> Numbers:
        """Return the value of each network, by which they are ranked."""
        return utilities[self.asks[0]] if self.formula is None else self.formula(utilities, known)


def rows_of(
    proxies: Mapping[str, str], published: Mapping[str, str] | None = None, cost_factor: int = 1
) -> tuple[RankRow, ...]:
    """Return a row for each proxy.

    Args:
        proxies: The proxy to measure, by the name of the row.
        published: The published row, where it has another name than ours; "" for none.
        cost_factor: How much more these proxies cost than others.
    """
    other = published or {}
    return tuple(
        RankRow(name, (proxy,), other.get(name, name), cost_factor=cost_factor) for name, proxy in proxies.items()
    )


@dataclass(frozen=True)
class RankTable:
    """Measures the Spearman correlation of each row with each available benchmark.

    Attributes:
        table: The published figures.
        benchmarks: What to correlate with.
        rows: What to measure.
        batch_sizes: Batch sizes by space, where they are not those of the proxies.
        kendall: The published figures of Kendall's correlation, which is measured, too, if they are given.
        expensive_sizes: Those of rows with a cost factor.
        once: Names of rows that are measured with the first seed only, by space.
    """

    table: PublishedTable
    benchmarks: tuple[Benchmark, ...]
    rows: tuple[RankRow, ...]
    batch_sizes: Mapping[str, int] = field(default_factory=dict, hash=False)
    kendall: PublishedTable | None = None
    expensive_sizes: Mapping[str, int] = field(default_factory=dict, hash=False)
    once: Mapping[str, Collection[str]] = field(default_factory=dict, hash=False)

    def __call__(self, lab: Lab) -> Findings:
        return Findings(self.lines(lab))

    def lines(self, lab: Lab) -> tuple[Finding, ...]:
        """Return one finding for each benchmark and row."""
        findings: list[Finding] = []
        for group in lab.data.by_table(self.benchmarks):
            studies = self._studies(lab, group)
            for benchmark in group:
                for row in self.rows:
                    for kind, table in self._tables:
                        published = table.at(row.published, benchmark.name) if row.published else None
                        findings.append(correlation(lab, studies[row.name], benchmark, row, published, kind))
        return tuple(findings)

    @property
    def _tables(self) -> list[tuple[str, PublishedTable]]:
        """The published figures by the kind of correlation."""
        return [("spearman", self.table), *([("kendall", self.kendall)] if self.kendall else [])]

    def _studies(self, lab: Lab, group: Sequence[Benchmark]) -> dict[str, Study]:
        """Score the networks of one table, and return the study of each row by its name."""
        space, alike = group[0].space, defaultdict[tuple[int, bool], list[RankRow]](list)
        for row in self.rows:
            alike[row.cost_factor, row.name in self.once.get(space, ())].append(row)
        studies: dict[str, Study] = {}
        for (cost_factor, is_once), rows in sorted(alike.items(), key=lambda item: item[0]):
            fewer = lab.cut(cost_factor)
            fewer = replace(fewer, seeds=fewer.seeds[:1]) if is_once else fewer
            sizes = self.batch_sizes if any(row.cost_factor == 1 for row in rows) else self.expensive_sizes
            found = fewer.study(group, [proxy for row in rows for proxy in row.asks], batch_size=sizes.get(space))
            studies |= {row.name: found for row in rows}
        return studies


def correlation(
    lab: Lab,
    found: Study,
    benchmark: Benchmark,
    row: RankRow,
    published: Published | None,
    kind: str = "spearman",
) -> Finding:
    """Return the correlation of a row with a benchmark. Networks without a score rank last.

    Args:
        lab: What to estimate with.
        found: The scores.
        benchmark: The benchmark.
        row: The row.
        published: The published figure.
        kind: "spearman" or "kendall".
    """
    statistic = STATISTICS[kind]
    truth = found.truth(lab.data.column(benchmark))
    known = Known(truth, found.groups, found.seeds[0])
    columns = [row.values(utilities, known) for utilities in found.utilities]
    scored = int(np.isfinite(columns[0]).sum())
    notes = [f"{len(truth)} networks"] if len(truth) != lab.samples else []
    if row.formula is None:
        columns = [unscored_last(values) for values in columns]
        notes += [f"{len(truth) - scored} without a score rank last"] if scored < len(truth) else []
    elif scored < len(truth):
        notes.append(f"{scored} of {len(truth)} networks")
    if len(columns) > 1:
        notes.append(_over_seeds(columns, truth, statistic))
    ours = lab.estimate(statistic, columns[0], truth, groups=found.groups)
    name = row.name if kind == "spearman" else f"{row.name}: {kind.title()}"
    return Finding(name, benchmark.name, ours, published, CORRELATION, "; ".join(notes))


def _over_seeds(columns: Sequence[Numbers], truth: Numbers, statistic: Statistic = STATISTICS["spearman"]) -> str:
    each = []
    for values in columns:
        known = np.isfinite(values) & np.isfinite(truth)
        each.append(statistic(values[known], truth[known]) if known.sum() > 1 else math.nan)
    return over_seeds(each)


def over_seeds(each: Sequence[float]) -> str:
    """Return mean and standard deviation of correlations, one for each seed, as a note."""
    if any(map(math.isnan, each)):
        return "undefined for some seeds"
    mean = round(fmean(each), 3) + 0.0  # avoids -0.000, which would depend on the last digit of this machine
    return f"over {len(each)} seeds {mean:.3f} ± {stdev(each):.3f}"
