"""Networks picked by their accuracy: the best, the worst, or those near a value."""

from __future__ import annotations

import numpy as np
import pandas as pd

from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import Lab, Measure
from firstlight.proxies.base import Score
from firstlight.scoring.service import Setting

# Networks of CIFAR-10 tables below this accuracy have no path from input to output: chance is 10 %, the next have 46 %
SIGNAL = 20.0


def best_and_worst(lab: Lab, benchmark: Benchmark) -> dict[str, list[str]]:
    """Return the best and the worst networks that carry a signal, one of each class, `samples` / 2 of each kind."""
    rows = _rows(lab, benchmark)
    ordered = rows[rows["value"] > SIGNAL].sort_values("value", ascending=False, kind="stable")
    classes = list(dict.fromkeys(ordered["canonical"]))
    count = max(1, min(lab.samples, len(classes)) // 2)
    return {"best": classes[:count], "worst": classes[-count:]}


def nearest(lab: Lab, benchmark: Benchmark, accuracy: float) -> list[str]:
    """Return the `samples` / 2 networks whose accuracy is closest to the given one, one of each class."""
    rows = _rows(lab, benchmark)
    ordered = rows.iloc[np.argsort(np.abs(rows["value"].to_numpy() - accuracy), kind="stable")]
    return list(dict.fromkeys(ordered["canonical"]))[: max(1, lab.samples // 2)]


def scores_of(lab: Lab, setting: Setting, texts: list[str], measure: Measure) -> list[Score]:
    """Measure networks and return the scores that have a value."""
    return [score for score in lab.measured(setting, texts, measure).values() if score.ok]


def _rows(lab: Lab, benchmark: Benchmark) -> pd.DataFrame:
    return lab.data.table(benchmark).join(lab.setting(benchmark.space).space, lab.data.column(benchmark)).rows
