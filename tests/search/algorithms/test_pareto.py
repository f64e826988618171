"""A search for a front."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
from tests.search.test_problem import SETTING

from firstlight.execution.executor import InProcess
from firstlight.options import Limits
from firstlight.proxies.ensembles import Criterion, Ensemble, members
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.front import hypervolume, layers, on_front
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.storage.store import Store

# a proxy that likes what costs: then networks of many sizes are on the front
MACS = ProxyRequest.parse("macs")


def problem(by: Criterion = MACS, budget: int = 150, seed: int = 0, **limits: int) -> Problem:
    service = ScoreService(SETTING, members(by), InProcess(), Store(":memory:"))
    objective = Objective(by, Limits(**limits), ("params",))
    return Problem(service, objective, random.Random(seed), budget)


def volume(name: str, seed: int) -> float:
    task = problem(seed=seed)
    AlgorithmRequest.parse(name).run(task)
    points = task.objective_values(task.pool.texts)
    return hypervolume(points / [1e6, 1e4], np.array([0.0, -2.0]))


def test_it_spends_its_budget_within_the_limits() -> None:
    task = problem(budget=90, max_params=6_000)
    AlgorithmRequest.parse("pareto:population=20:children=10").run(task)
    assert task.scored == len(task.pool) == 90
    assert all(task.space.cost(task.space.parse(text), SETTING.skeleton).params <= 6_000 for text in task.pool.texts)


def test_it_reaches_at_least_as_much_as_chance() -> None:
    seeds = range(4)
    found = sum(volume("pareto:population=20:children=10", seed) for seed in seeds)
    assert found >= 0.999 * sum(volume("random", seed) for seed in seeds)


def test_an_ensemble_and_networks_without_a_score_have_a_place() -> None:
    task = problem(Ensemble.parse("log_rank(macs,params)"), budget=40)
    AlgorithmRequest.parse("pareto:population=10:children=5").run(task)
    points = task.objective_values(task.pool.texts)
    assert np.isfinite(points).all()
    assert on_front(points).any()


def test_a_network_without_a_score_is_behind_all_others() -> None:
    """The empty cell costs least, and would be on every front, if it had but its score against it."""
    task = problem(ProxyRequest.parse("synflow"), budget=12)
    empty = task.space.parse("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    task.score([empty, *itertools.islice(task.distinct_samples(), 11)])
    assert task.pool.utility(str(empty)) is None
    points = task.objective_values(task.pool.texts)
    assert layers(points)[task.pool.texts.index(str(empty))] == layers(points).max() > 0


def test_latencies_are_measured_before_any_network_is_scored() -> None:
    events: list[str] = []

    class Watched(InProcess):
        def map(self, job: Any, items: Any) -> Any:
            for item, result in super().map(job, items):
                events.append("scored")
                yield item, result

    class Clock:
        measures = True

        def milliseconds(self, architecture: object) -> float:
            events.append("timed")
            return 1.0

    service = ScoreService(SETTING, [MACS], Watched(), Store(":memory:"))
    task = Problem(service, Objective(MACS, costs=("latency",)), random.Random(0), 6, latency=Clock())
    list(task.score(task.distinct_samples()))
    assert events == ["timed"] * 6 + ["scored"] * 6


def test_it_says_what_it_keeps_low_by_itself() -> None:
    assert ALGORITHMS["pareto"].costs == ("macs",)
