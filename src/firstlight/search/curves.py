"""Progress of methods: the performance of the best network so far, as a mean over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Against = Literal["queries", "seconds"]
AGAINST: dict[Against, str] = {"queries": "query", "seconds": "elapsed"}
# The number of points of a line over seconds.
PLACES = 60
# Lines start after this share of the queries: the first networks are so poor that they would hide the rest.
FIRST_SHARE = 0.1


@dataclass(frozen=True)
class Curve:
    """A line of points (x, mean, standard deviation over the seeds); the deviation of a single seed is 0."""

    name: str
    points: Sequence[tuple[float, float, float]]
    seeds: int


@dataclass(frozen=True)
class _Steps:
    """One run: the queries or seconds up to each query, and the performance of the best network so far."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def at(self, place: float) -> float:
        done = int(np.searchsorted(self.x, place, side="right"))
        return float(self.y[done - 1]) if done else math.nan


def mean_curves(
    log: pd.DataFrame, column: str, against: Against = "queries", *, first: int | None = None
) -> list[Curve]:
    """Return a curve for each method, at points where all its runs have a network; none where seconds are unknown.

    Args:
        log: A row for each query of each run: `method`, `seed`, `query` (from 1), `elapsed` seconds, and `column`.
        column: The column with the performance of the best network so far.
        against: The x-axis: "queries" or "seconds".
        first: The query at which lines start; by default after a tenth of the queries. They end with the longest run.
    """
    last = int(log["query"].max())
    first = max(1, math.ceil(FIRST_SHARE * last)) if first is None else min(first, last)
    found = []
    for method, rows in log.groupby("method", sort=False):
        runs = [run.sort_values("query") for _, run in rows.groupby("seed", sort=False)]
        steps = [_Steps(run[AGAINST[against]].to_numpy(dtype=float), run[column].to_numpy(dtype=float)) for run in runs]
        longest = max(len(run.x) for run in steps)
        places = range(min(first, longest), longest + 1) if against == "queries" else _moments(steps, first)
        points = []
        for place in places:
            reached = [run.at(place) for run in steps]
            if all(map(math.isfinite, reached)):
                points.append((float(place), fmean(reached), stdev(reached) if len(reached) > 1 else 0.0))
        if points:
            found.append(Curve(str(method), points, len(runs)))
    return found


def _moments(runs: Sequence[_Steps], first: int) -> Sequence[float]:
    """Return moments from when all runs have made the first query that is drawn, to the mean end of the runs."""
    if not all(np.isfinite(run.x).all() for run in runs):
        return []
    start = max(float(run.x[min(first, len(run.x)) - 1]) for run in runs)
    end = max(start, fmean(float(run.x[-1]) for run in runs))
    return [start + (end - start) * step / (PLACES - 1) for step in range(PLACES)]
