"""A table of 4,096 trained networks whose best one is known: every edge should carry the last operation."""

from __future__ import annotations

import functools
import random
from typing import Any

import pandas as pd

from firstlight.evaluation.contest import table_truth
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Candidate, Objective
from firstlight.search.queries import Queries
from firstlight.spaces import SPACES
from firstlight.tables.table import Table, as_table

SPACE = SPACES["transnas-micro"]
BEST = "64-41414-3_33_333"
SETTING = TableSetting("transnas-micro")
EPOCHS = (4, 40)


@functools.cache
def a_table() -> Table:
    """Accuracy grows with the number of each operation; after four epochs it is lower, and less sure."""
    rng = random.Random(0)
    rows = []
    for architecture in SPACE:
        total = sum(architecture.operations)
        cost = SPACE.cost(architecture)
        rows.append(
            {
                "architecture": str(architecture),
                "toy_val_4": 20 + 2 * total + rng.uniform(0, 1),
                "toy_val_40": 50 + 2 * total,
                "toy_test_40": 49 + 2 * total,
                "toy_train_seconds_40": 40 * (1 + cost.macs / 1e9),
                "some_seconds_40": 1.0,
            }
        )
    return as_table(pd.DataFrame(rows), "toy")


@functools.cache
def a_truth(target: str = "toy_val_40", fidelities: tuple[str, ...] | None = None) -> TableTruth:
    return table_truth(a_table(), SETTING, target, fidelities=fidelities)[0]


def search(text: str, budget: int, seed: int = 0, **truth: Any) -> tuple[Queries, list[Candidate]]:
    """Run an algorithm by its text; the problem afterwards, and all queries in order."""
    asked: list[Candidate] = []
    problem = Queries(
        a_truth(**truth), Objective(TRUTH), random.Random(seed), budget, callback=lambda event: asked.append(event.item)
    )
    AlgorithmRequest.parse(text).run(problem)
    return problem, asked
