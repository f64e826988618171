"""The figures of `benchmarks.fit`, for docs/measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import firstlight
from firstlight.core.statistics import CONFIDENCE, Estimate
from firstlight.papers.base import Finding

SHOWS = (
    "what `firstlight fit` finds, plain networks within the same limits, random search in the same time, and searches "
    "of NAS-Bench-201, all trained alike in the end"
)


def figures_of(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of tasks as docs/measured holds them: one line for each accuracy, and for each difference."""
    lines = [line for task in tasks for line in _lines(task)]
    remarks = [
        f"{task['task']}: {task['fit']['screened']:,} networks screened, {task['fit']['trained']:,} trainings, "
        f"{task['fit']['seconds']:,.0f} s. {task['fit']['verdict']['text']}"
        for task in tasks
    ]
    remarks += [f"{task['task']}: no {name}: {why}" for task in tasks for name, why in task["without"].items()]
    return {
        "experiment": "fit-against-baselines",
        "published_in": "fit against plain networks",
        "paper": "",
        "shows": SHOWS,
        "command": "python -m benchmarks.fit run --out runs/fit-benchmark",
        "date": max(task["date"] for task in tasks),
        "settings": {task["task"]: f"{task['params']} parameters, {task['time']}" for task in tasks},
        "findings": [line.to_dict() for line in lines],
        "remarks": remarks,
        "missing": {},
        "version": firstlight.__version__,
        "versions": tasks[0]["versions"],
    }


def _lines(task: Mapping[str, Any]) -> list[Finding]:
    """Return the test accuracies of a task, and by how much the fit is better than each."""
    lines = []
    for entry in task["networks"]:
        if entry["test_accuracy"] is None:
            continue
        found = _mean([100 * accuracy for accuracy in entry["test_accuracies"]])
        note = f"{entry['params']:,} parameters, {entry['space']}, {len(entry['test_accuracies'])} seeds"
        lines.append(Finding(f"{entry['title']}: test accuracy, %", task["task"], found, note=note))
    for title, verdict in task["differences"].items():
        found = Estimate(verdict["difference"], *verdict["interval"])
        lines.append(Finding(f"fit minus {title}, points", task["task"], found, note=verdict["outcome"]))
    return lines


def _mean(values: Sequence[float]) -> Estimate:
    """Return the mean of a few values with the interval of Student's t."""
    from scipy.stats import t

    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Estimate(mean, mean, mean)
    reach = float(t.ppf((1 + CONFIDENCE) / 2, count - 1)) * float(np.std(values, ddof=1)) / count**0.5
    return Estimate(mean, mean - reach, mean + reach)
