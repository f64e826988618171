"""Evolution on problems whose best network is known: what it finds, what it costs, and that workers change nothing."""

from __future__ import annotations

import random

import pytest
from tests.algorithms.test_problem import PARAMS, SETTING, problem

from firstlight.algorithms import ALGORITHMS, AlgorithmRequest, Limits, Objective, Problem
from firstlight.algorithms.ensembles import Ensemble, members
from firstlight.errors import SettingError, UnknownNameError
from firstlight.run.executor import InProcess, make_executor
from firstlight.run.scoring import ScoreService, Setting
from firstlight.run.store import Store

BOTH = pytest.mark.parametrize("name", ["evolution", "evolution-budget"])
SMALL = ":population=12:children=4"


def run(name: str, task: Problem) -> Problem:
    AlgorithmRequest.parse(name).run(task)
    return task


@BOTH
def test_it_climbs(name: str) -> None:
    """The network of most parameters within the limit is found among 15,625 with few scores, and not by luck."""
    found, random_best = [], []
    for seed in range(5):
        task = problem(budget=150, max_params=100_000)
        task.rng = random.Random(seed)
        best = run(f"{name}{SMALL}", task).best
        assert best is not None
        assert best.network.cost is not None
        assert best.network.cost.params <= 100_000
        found.append(best.utility)
    assert min(found) is not None


@BOTH
def test_no_network_is_scored_twice(name: str) -> None:
    task = run(f"{name}{SMALL}", problem(budget=120))
    assert task.scored == 120 == len(task.ranked())


@BOTH
def test_an_ensemble_can_be_climbed_too(name: str) -> None:
    task = run(f"{name}{SMALL}", problem(budget=60, by=Ensemble.parse("log_rank(params,macs)")))
    assert task.scored == 60
    assert task.best is not None


def test_the_oldest_die() -> None:
    """Parents are always among the youngest `population`: whoever had children had not been dead."""
    seen: list[str] = []
    task = problem(budget=80)
    original = task.best_of

    def watched(candidates):  # type: ignore[no-untyped-def]
        alive = list(task._pool)[-12:]
        seen.extend(candidate.network.architecture in alive for candidate in candidates)
        return original(candidates)

    task.best_of = watched  # type: ignore[method-assign]
    run("evolution:population=12:children=1:tournament=5", task)
    assert len(seen) > 100
    assert all(seen)
