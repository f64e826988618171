"""Networks picked by what they reach: the best, the worst, or those near an accuracy."""

from __future__ import annotations

import numpy as np

from firstlight.papers.base import FIGURE, Finding, Published, Scale
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import Lab, Measure
from firstlight.proxies.base import Score
from firstlight.scoring.service import Setting

# Below this the networks of CIFAR-10 tables have no path from input to output: chance is 10 %, and the next reach 46 %
SIGNAL = 20.0


def best_and_worst(lab: Lab, benchmark: Benchmark) -> dict[str, list[str]]:
    """Half as many networks as samples of each kind, all of different functions and with an output that moves."""
    rows = lab.shelf.table(benchmark).join(lab.setting(benchmark.space).space, lab.shelf.column(benchmark)).rows
    ordered = rows[rows["value"] > SIGNAL].sort_values("value", ascending=False, kind="stable")
    classes = list(dict.fromkeys(ordered["canonical"]))
    count = max(1, min(lab.samples, len(classes)) // 2)
    return {"best": classes[:count], "worst": classes[-count:]}


def nearest(lab: Lab, benchmark: Benchmark, accuracy: float) -> list[str]:
    """Half as many networks as samples, of different functions, those that come closest to an accuracy."""
    rows = lab.shelf.table(benchmark).join(lab.setting(benchmark.space).space, lab.shelf.column(benchmark)).rows
    ordered = rows.iloc[np.argsort(np.abs(rows["value"].to_numpy() - accuracy), kind="stable")]
    return list(dict.fromkeys(ordered["canonical"]))[: max(1, lab.samples // 2)]


def measured(lab: Lab, setting: Setting, texts: list[str], measure: Measure) -> list[Score]:
    """The scores that have a value."""
    return [score for score in lab.measured(setting, texts, measure).values() if score.ok]


def mean_of(
    lab: Lab,
    what: str,
    on: str,
    values: list[float],
    published: Published | None = None,
    scale: Scale = FIGURE,
    alike: list[str] | None = None,
) -> Finding:
    """The mean over networks, with its interval; those of one name in `alike` share a value."""
    groups = None if alike is None else np.unique(alike, return_inverse=True)[1].astype(np.int64)
    ours = lab.estimate(lambda column: float(column.mean()), np.array(values, dtype=float), groups=groups)
    return Finding(what, on, ours, published, scale, f"{len(values)} networks")
