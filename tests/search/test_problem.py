"""What an algorithm sees."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from firstlight.core.errors import LimitError
from firstlight.data import InputSource
from firstlight.execution.executor import InProcess
from firstlight.options import Limits
from firstlight.proxies.ensembles import Criterion, Ensemble, members, utilities
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search import problem as problem_module
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.storage.store import Store

SETTING = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 4)))
PARAMS = ProxyRequest.parse("params")


def problem(budget: int = 5, by: Criterion = PARAMS, setting: Setting = SETTING, **limits: int) -> Problem:
    service = ScoreService(setting, members(by), InProcess(), Store(":memory:"))
    return Problem(service, Objective(by, Limits(**limits)), random.Random(0), budget)


def test_the_budget_is_kept() -> None:
    task = problem(budget=5)
    cells = [cell for _, cell in zip(range(8), task.distinct_samples(), strict=False)]
    assert len(task.score(cells)) == 5
    assert task.remaining == 0
    assert task.score(cells) == []
    assert list(task.score_as_completed(cells)) == []


def test_samples_are_canonical_and_distinct() -> None:
    task = problem()
    cells = [cell for _, cell in zip(range(300), task.distinct_samples(), strict=False)]
    assert len(set(cells)) == 300
    assert all(task.space.canonical(cell) == cell for cell in cells)


def test_a_large_space_is_sampled_until_nothing_new_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_module, "SMALL_SPACE", 10)
    monkeypatch.setattr(problem_module, "PATIENCE", 300)
    assert len(set(problem(max_params=4894).distinct_samples())) > 50
    with pytest.raises(LimitError, match=r"at most 1 parameters.*The closest one has 4,894 parameters: \|none"):
        next(problem(max_params=1).distinct_samples())


def test_equal_scores_are_decided_by_the_text() -> None:
    task = problem()
    a, b = (
        task.space.parse(text)
        for text in (
            "|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|",
            "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|",
        )
    )
    task.score([a])
    task.score([b])
    assert task.pool.best() == sorted([str(a), str(b)])


def test_an_ensemble_judges_all_that_were_scored() -> None:
    """Each network that joins may change the utility of the others; asking for one again changes nothing."""
    ensemble = Ensemble.parse("rank_mean(params,macs)")
    task = problem(budget=9, by=ensemble)
    assert task.pool.best() == []
    cells = [cell for _, cell in zip(range(6), task.distinct_samples(), strict=False)]
    assert [candidate.utility for candidate in task.score(cells[:3])] == [None] * 3
    first = task.pool.utilities()
    task.score(cells)
    assert (len(task.pool), task.scored) == (6, 9)
    again = task.pool.utilities()
    assert first != {text: again[text] for text in first}
    assert list(again.values()) == utilities(ensemble, [task.network(text) for text in again])
    assert again[task.pool.best(1)[0]] == max(again.values())


def test_every_algorithm_spends_its_budget_and_says_what_it_is() -> None:
    """But for those that score only what they have come to, however large the budget is, and those for the truth."""
    deciding = {name for name, entry in ALGORITHMS.items() if entry.searches_supernet}
    assert deciding == {"prune", "zero-cost-pt", "nasi", "nasi-ridge"}
    assert {name for name, entry in ALGORITHMS.items() if entry.needs_truth} == {
        "hnas",
        "portfolio",
        "predictor",
        "robot",
        "verify",
    }
    others = (entry for entry in ALGORITHMS.values() if not entry.searches_supernet and not entry.needs_truth)
    for algorithm in others:
        for by in (PARAMS, Ensemble.parse("log_rank(params,macs)")):
            task = problem(budget=7, by=by)
            AlgorithmRequest(algorithm).run(task)
            assert task.scored == 7
        assert algorithm.summary.endswith(".")


def test_a_supernet_judged_by_something_else_sees_the_same_kind_of_labels() -> None:
    values = []
    for labels in ("true", "random"):
        task = problem(setting=replace(SETTING, source=InputSource("digits", labels=labels)))
        judge = task.supernet(ProxyRequest.parse("grad_norm"), batch_size=2)
        values += judge.utilities([judge.supernet.layout.full])
    assert values[0] != values[1]
