"""Tables of rank correlations: one row for each proxy, one column for each benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from firstlight.core.statistics import Groups, Numbers, spearman, unscored_last
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Finding, Published
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import Lab, same_table

Utilities = Mapping[str, Numbers]
# What is made of the scores of several proxies: higher is better. Some choose numbers of their own, and may look at
# the truth of half the networks for it; these have no value (NaN) in the result.
Formula = Callable[[Utilities, "Known"], Numbers]


@dataclass(frozen=True)
class Known:
    """What a formula may look at beside the scores: the truth, the class of each network, and the study's seed."""

    truth: Numbers
    groups: Groups
    seed: int


@dataclass(frozen=True)
class RankRow:
    """A line of a published table: its name there, what we ask for it, and its figures, one for each benchmark."""

    name: str
    asks: tuple[str, ...]
    published: tuple[float | None, ...] = ()
    formula: Formula | None = None

    def values(self, utilities: Utilities, known: Known) -> Numbers:
        return utilities[self.asks[0]] if self.formula is None else self.formula(utilities, known)


def row(name: str, proxy: str, *published: float | None) -> RankRow:
    return RankRow(name, (proxy,), published)


def rank_table(
    lab: Lab,
    benchmarks: tuple[Benchmark, ...],
    rows: Sequence[RankRow],
    source: str,
    batch_sizes: Mapping[str, int] | None = None,
) -> tuple[Finding, ...]:
    """Spearman's correlation of each row with each benchmark that is at hand.

    Batches are as large as the proxies take, unless `batch_sizes` says otherwise for a space.
    """
    findings: list[Finding] = []
    for group in same_table(lab.shelf, benchmarks):
        batch_size = (batch_sizes or {}).get(group[0].space)
        found = lab.study(group, [proxy for entry in rows for proxy in entry.asks], batch_size=batch_size)
        for benchmark in group:
            place = benchmarks.index(benchmark)
            for entry in rows:
                value = entry.published[place] if entry.published else None
                findings.append(
                    correlation(lab, found, benchmark, entry, Published.value(source, value)),
                )
    return tuple(findings)


def correlation(lab: Lab, found: Study, benchmark: Benchmark, entry: RankRow, published: Published | None) -> Finding:
    truth = found.truth(lab.shelf.column(benchmark))
    known = Known(truth, found.groups, found.seeds[0])
    columns = [entry.values(utilities, known) for utilities in found.utilities]
    scored = int(np.isfinite(columns[0]).sum())
    notes = [f"{len(truth)} networks"] if benchmark.dearness > 1 else []
    if entry.formula is None:
        columns = [unscored_last(values) for values in columns]
        notes += [f"{len(truth) - scored} without a score rank last"] if scored < len(truth) else []
    elif scored < len(truth):
        notes.append(f"{scored} of {len(truth)} networks")
    if len(columns) > 1:
        notes.append(_over_seeds(columns, truth))
    ours = lab.estimate(spearman, columns[0], truth, groups=found.groups)
    return Finding(entry.name, benchmark.name, ours, published, CORRELATION, "; ".join(notes))


def _over_seeds(columns: Sequence[Numbers], truth: Numbers) -> str:
    each = []
    for values in columns:
        known = np.isfinite(values) & np.isfinite(truth)
        each.append(spearman(values[known], truth[known]) if known.sum() > 1 else math.nan)
    return over_seeds(each)


def over_seeds(each: Sequence[float]) -> str:
    """What correlations, one for each seed, come to."""
    if any(map(math.isnan, each)):
        return "undefined for some seeds"
    mean = round(fmean(each), 3) + 0.0  # no -0.000, whatever the last digit is on this machine
    return f"over {len(each)} seeds {mean:.3f} ± {stdev(each):.3f}"
