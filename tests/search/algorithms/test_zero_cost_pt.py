"""Zero-Cost-PT where arithmetic says what it must choose; what it asks, and what it refuses."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.search.supernets import found, nasbench201, run, small_darts
from tests.search.test_problem import SETTING

import firstlight
from firstlight.core.errors import FirstlightError, LimitError, SettingError
from firstlight.data import InputSource
from firstlight.execution.executor import InProcess, make_executor
from firstlight.proxies.ensembles import Ensemble, members, parse_criterion
from firstlight.scoring import service as scoring
from firstlight.scoring.service import ScoreService
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.spaces.in_space import in_space
from firstlight.storage.store import Store

# Without a 3x3 convolution, most parameters and most work are gone
LARGEST = ("nor_conv_3x3",) * 6
SMALL = {"cells": 1, "channels": 4, "input_shape": (3, 8, 8)}


@pytest.mark.parametrize(
    ("order", "states"), [("random", None), ("forward", 30), ("reverse", 30), ("global", 5 * (6 + 5 + 4 + 3 + 2 + 1))]
)
def test_the_operation_that_is_missed_most_is_kept(order: str, states: int | None) -> None:
    task = run(f"zero-cost-pt:proposals=2:order={order}", nasbench201())
    assert found(task).operations == LARGEST
    assert task.scored == 1  # both proposals are the same
    assert task.states_scored == states if states else 30 < task.states_scored <= 60


def test_a_criterion_may_be_one_to_minimise() -> None:
    """The operation without which the condition is worst, which is highest, stays."""
    by = parse_criterion("te_ntk:samples=3")
    setting = replace(SETTING, source=InputSource(batch_size=3))
    service = ScoreService(setting, members(by), InProcess(), Store(":memory:"))
    task = run("zero-cost-pt:proposals=1:order=forward", Problem(service, Objective(by), random.Random(0), 5))
    supernet = task.space.supernet()
    asked = ScoreService(replace(setting, **in_space(supernet)), members(by), InProcess(), Store(":memory:"))
    state = supernet.layout.full
    for place in supernet.layout.places:
        without = {str(state.without(place, name)): name for name in supernet.layout.operations}
        worst = max(asked.scores(without), key=lambda network: network.scores[str(by)].value)
        state = state.keeping(place, without[worst.architecture])
    assert found(task) == task.space.canonical(task.space.parse(str(state)))


def test_an_ensemble_judges_the_states_of_each_decision() -> None:
    task = run("zero-cost-pt:proposals=1", nasbench201(Ensemble.parse("log_rank(params,macs)")))
    assert found(task).operations == LARGEST


def test_of_darts_edges_are_chosen_too() -> None:
    """All edges have the same separable convolution, so that of equals the first go: nodes read the latest states."""
    task = run("zero-cost-pt:proposals=1:order=forward", small_darts())
    genotype = task.space.canonical(found(task))
    expected = [("sep_conv_3x3", source) for node in range(4) for source in (node, node + 1)]
    assert list(genotype.normal.edges) == list(genotype.reduce.edges) == expected
    operations, edges = 28 * 2, 2 * (3 + 4 + 3 + 5 + 4 + 3)
    assert task.states_scored == operations + edges


def test_edges_may_be_judged_by_naswot_whatever_the_proxy_is() -> None:
    task = run("zero-cost-pt:proposals=1:order=forward:topology=naswot", small_darts())
    operations, edges = task._judges
    assert list(operations._service.requests) == ["params"]
    assert list(edges._service.requests) == ["naswot"]
    assert (operations._service.setting.source.batch_size, edges._service.setting.source.batch_size) == (1, 64)
    assert (operations.scored, edges.scored) == (28 * 2, 2 * (3 + 4 + 3 + 5 + 4 + 3))
    assert {name for name, _ in found(task).normal.edges} == {"sep_conv_3x3"}


def search(space: str = "nasbench201", **settings: Any) -> firstlight.SearchResult:
    usual = {"proxy": "naswot", "algorithm": "zero-cost-pt:proposals=2", "skeleton": SMALL, "batch_size": 8}
    return firstlight.search(space, **usual | {"workers": 0} | settings)


def test_it_is_resumed_without_scoring_anything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = search(out=tmp_path)
    assert first.scored > 1
    monkeypatch.setattr(scoring.ScoreJob, "_draw", lambda *_: pytest.fail("scored again"))
    again = search(out=tmp_path)
    assert again.best.architecture == first.best.architecture
    assert (again.scored, again.reused) == (0, first.scored)


def test_the_seed_decides() -> None:
    seeds = (0, 0, 1)
    once = [search(seed=seed, algorithm="zero-cost-pt:proposals=1").best.architecture for seed in seeds]
    assert once[0] == once[1]
    assert len(set(once)) > 1


def test_networks_are_validated_over_repeats_and_states_are_not() -> None:
    result = search(repeats=3, algorithm="zero-cost-pt:proposals=1")
    assert result.score.parts["repeats"] == 3


def test_workers_judge_states_alike() -> None:
    found_by = []
    for workers in (0, 2):
        task = small_darts()
        assert task.scorer is not None
        task.scorer.executor = make_executor(workers)
        judge = task.supernet()
        full = judge.supernet.layout.full
        found_by.append(judge.utilities([full.without(place, "sep_conv_3x3") for place in full.layout.places[:4]]))
    assert found_by[0] == found_by[1]


def test_networks_beyond_the_limits_cannot_win() -> None:
    with pytest.raises(LimitError, match=r"at most 5,000 parameters.*closest one has [\d,]+ parameters"):
        run("zero-cost-pt:proposals=1", nasbench201(max_params=5000))
    task = run("zero-cost-pt:proposals=1", nasbench201(min_params=5000))
    assert found(task).operations == LARGEST


def test_the_budget_is_kept() -> None:
    assert search(samples=2).scored == 2


def test_a_space_without_a_supernet() -> None:
    with pytest.raises(SettingError, match=r"'nasbench101' has no supernet.*darts, nasbench201"):
        search("nasbench101", skeleton={})


def test_a_proxy_that_scores_no_state() -> None:
    with pytest.raises(
        FirstlightError, match=r"cannot be searched with dss.*none of 5 states.*has the status unsupported"
    ):
        run("zero-cost-pt", nasbench201(parse_criterion("dss")))
