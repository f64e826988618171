"""Searches on supernets that are small enough for tests."""

from __future__ import annotations

import random
from typing import Any

from tests.search.test_problem import PARAMS, problem

from firstlight.execution.executor import InProcess
from firstlight.proxies.ensembles import Criterion, members
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.spaces.darts.space import DARTS
from firstlight.spaces.darts.supernet import EDGES, KINDS, DartsSupernet
from firstlight.spaces.supernets.state import Layout
from firstlight.storage.store import Store


class SmallSupernet(DartsSupernet):
    """Of DARTS, with two operations."""

    name = "small-supernet"
    layout = Layout(KINDS, EDGES, ("skip_connect", "sep_conv_3x3"), kept=2)


class SmallDARTS(DARTS):
    name = "small-darts"

    def supernet(self) -> SmallSupernet:
        return SmallSupernet()


SMALL_DARTS = Setting(
    "small-darts",
    own_space=SmallDARTS(),
    skeleton_settings=(("cells", 3), ("channels", 2), ("input_shape", (3, 8, 8))),
)


def small_darts(by: Criterion = PARAMS, budget: int = 5, seed: int = 0) -> Problem:
    service = ScoreService(SMALL_DARTS, members(by), InProcess(), Store(":memory:"))
    return Problem(service, Objective(by), random.Random(seed), budget)


def nasbench201(by: Criterion = PARAMS, **limits: Any) -> Problem:
    return problem(by=by, **limits)


def run(name: str, task: Problem) -> Problem:
    AlgorithmRequest.parse(name).run(task)
    return task


def found(task: Problem) -> Any:
    """The best network, as an architecture."""
    return task.space.parse(task.pool.best(1)[0])
