"""BOHB: both fidelities are used, few networks are promoted, and the seed decides."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from tests.evaluation.toy_truth import search
from tests.search.test_problem import problem

from firstlight.core.errors import FirstlightError
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Candidate


def epochs(asked: list[Candidate]) -> list[int]:
    return [int(candidate.network.scores["truth"].parts["epochs"]) for candidate in asked]


def test_many_networks_are_tried_briefly_and_few_to_the_end() -> None:
    task, asked = search("bohb", 100)
    counts = Counter(epochs(asked))
    assert task.scored == 100 == counts[4] + counts[40]
    assert counts[4] > 3 * counts[40] > 0
    at = {level: {c.network.architecture for c in asked if epochs([c]) == [level]} for level in (4, 40)}
    assert len(at[4]) == counts[4]  # each once
    assert at[40] <= at[4]  # a network climbs, rung by rung
    promoted = [value_of(c) for c in asked if epochs([c]) == [4] and c.network.architecture in at[40]]
    others = [value_of(c) for c in asked if epochs([c]) == [4] and c.network.architecture not in at[40]]
    assert sum(promoted) / len(promoted) > sum(others) / len(others)


def value_of(candidate: Candidate) -> float:
    assert candidate.utility is not None
    return candidate.utility


def test_with_one_fidelity_it_is_plain_tpe_and_better_than_chance() -> None:
    _, asked = search("bohb", 80, fidelities=())
    assert set(epochs(asked)) == {40}
    assert len({candidate.network.architecture for candidate in asked}) == 80
    late = [value_of(c) for seed in range(2) for c in search("bohb", 80, seed, fidelities=())[1][-30:]]
    chance = [value_of(c) for seed in range(2) for c in search("random", 80, seed, fidelities=())[1][-30:]]
    assert sum(late) > sum(chance)


def test_the_seed_decides() -> None:
    runs = [[(c.network.architecture, c.utility) for c in search("bohb", 40, seed)[1]] for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_a_proxy_will_do_as_well() -> None:
    task = problem(budget=15)
    AlgorithmRequest.parse("bohb:startup=5").run(task)
    assert task.scored == 15 == len(task.pool)


def test_optuna_is_left_as_it_was() -> None:
    import optuna

    before = optuna.logging.get_verbosity()
    search("bohb", 5)
    assert optuna.logging.get_verbosity() == before


def test_without_optuna_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(FirstlightError, match=r"pip install 'firstlight\[optuna\]'"):
        search("bohb", 5)
