"""REINFORCE where the better operation is known."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from tests.evaluation.toy_truth import SPACE, search
from tests.search.test_problem import PARAMS, problem

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.execution.executor import InProcess
from firstlight.proxies.ensembles import Criterion, Ensemble
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import reinforce
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.storage.store import Store


def test_a_step_follows_the_gradient_of_the_log_probability() -> None:
    policy = reinforce.Policy([3, 2])
    policy.logits = [[0.1, -0.4, 0.7], [0.3, -0.2]]
    before = [list(logits) for logits in policy.logits]

    def log_probability(logits: list[list[float]]) -> float:
        return sum(own[c] - math.log(sum(map(math.exp, own))) for own, c in zip(logits, (2, 0), strict=True))

    policy.learn((2, 0), 1e-3)
    for place, own in enumerate(before):
        for option in range(len(own)):
            moved = [list(logits) for logits in before]
            moved[place][option] += 1e-6
            slope = (log_probability(moved) - log_probability(before)) / 1e-6
            assert (policy.logits[place][option] - own[option]) / 1e-3 == pytest.approx(slope, abs=1e-4)


def test_samples_follow_the_probabilities() -> None:
    policy = reinforce.Policy([2])
    policy.logits = [[0.0, math.log(3)]]
    rng = random.Random(0)
    share = sum(policy.sample(rng)[0] for _ in range(4_000)) / 4_000
    assert policy.probabilities()[0] == pytest.approx([0.25, 0.75])
    assert share == pytest.approx(0.75, abs=0.03)


def test_the_policy_turns_to_the_better_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    original = reinforce.Policy

    def remembered(sizes: list[int]) -> Any:
        made.append(original(sizes))
        return made[-1]

    monkeypatch.setattr(reinforce, "Policy", remembered)
    for seed in range(3):
        _, asked = search("reinforce:batch=1", 200, seed)
        late = [sum(SPACE.parse(c.network.architecture).operations) for c in asked[-40:]]
        early = [sum(SPACE.parse(c.network.architecture).operations) for c in asked[:40]]
        assert sum(late) > sum(early)
        shares = made[-1].probabilities()
        assert sum(own[3] for own in shares) / len(shares) > 0.4  # a quarter at first
        assert all(own[3] > own[0] for own in shares)


def test_no_network_is_asked_about_twice_and_the_seed_decides() -> None:
    runs = [[c.network.architecture for c in search("reinforce", 60, seed)[1]] for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len(set(runs[0])) == 60


def test_it_ends_when_nothing_new_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reinforce, "PATIENCE", 200)
    task, asked = search("reinforce:learning_rate=50.0", 3_000)
    assert 0 < len(asked) < 3_000
    assert task.remaining == 3_000 - len(asked)


@pytest.mark.parametrize("by", [PARAMS, Ensemble.parse("rank_mean(params,macs)")], ids=str)
def test_rewards_of_any_scale_will_do(by: Criterion) -> None:
    """Thousands of parameters, or ranks in a pool that grows: in the end, larger networks are drawn than at first."""
    task = problem(budget=120, by=by)
    AlgorithmRequest.parse("reinforce").run(task)
    sizes = [task.space.cost(task.space.parse(text)).params for text in task.pool.texts]
    assert len(sizes) == 120
    assert sum(sizes[-40:]) > sum(sizes[:40])


def test_a_space_without_choices_is_refused() -> None:
    service = ScoreService(Setting("nasbench101"), [PARAMS], InProcess(), Store(":memory:"))
    task = Problem(service, Objective(PARAMS), random.Random(0), 5)
    with pytest.raises(UnsupportedError, match="nasbench201"):
        AlgorithmRequest.parse("reinforce").run(task)
    with pytest.raises(SettingError, match="1 or more"):
        AlgorithmRequest.parse("reinforce:batch=0")
