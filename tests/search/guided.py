"""Searches in which proxies choose what is asked about, on the toy table and on small networks."""

from __future__ import annotations

import random

from tests.evaluation.toy_truth import a_truth

from firstlight.evaluation.truth import TRUTH, TableTruth
from firstlight.execution.executor import InProcess
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries
from firstlight.storage.store import Store

SMALL = (("channels", 4), ("input_shape", (3, 8, 8)))


def a_measuring(store: Store | None = None) -> Measuring:
    return Measuring(Setting("transnas-micro", skeleton_settings=SMALL), InProcess(), store or Store(":memory:"))


def guided(text: str, budget: int = 6, seed: int = 0, truth: TableTruth | None = None) -> tuple[Queries, list[str]]:
    """Run an algorithm by its text; the problem afterwards, and what was asked about in order."""
    asked: list[str] = []
    problem = Queries(
        truth or a_truth(),
        Objective(TRUTH),
        random.Random(seed),
        budget,
        measuring=a_measuring(),
        callback=lambda event: asked.append(event.architecture) if event.item else None,
    )
    AlgorithmRequest.parse(text).run(problem)
    return problem, asked
