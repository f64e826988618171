"""Evolution where the best network is known: how near it comes, what it asks, and that workers change nothing."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.search.test_problem import PARAMS, SETTING, problem

from firstlight.core.errors import LimitError, ParseError, SettingError, UnknownNameError
from firstlight.execution.executor import make_executor
from firstlight.options import Limits
from firstlight.proxies.ensembles import Ensemble
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms.evolution import falling_mutations
from firstlight.search.objective import Candidate, Objective
from firstlight.search.problem import Problem
from firstlight.spaces.nasrec.space import NasRecSmall
from firstlight.storage.store import Store

BOTH = pytest.mark.parametrize("name", ["evolution:population=20:children=5", "evolution-budget:population=20"])
# Few of the networks within it use nearly all of it
LIMIT = 5_000


def run(name: str, task: Problem) -> Problem:
    AlgorithmRequest.parse(name).run(task)
    return task


@functools.cache
def reached(name: str, seed: int) -> float:
    task = problem(budget=80, max_params=LIMIT)
    task.rng = random.Random(seed)
    pool = run(name, task).pool
    utility = pool.utility(pool.best(1)[0])
    assert utility is not None
    assert utility <= LIMIT
    return utility


@BOTH
def test_it_climbs_higher_than_random_search(name: str) -> None:
    seeds = range(2)
    assert sum(reached(name, seed) for seed in seeds) >= sum(reached("random", seed) for seed in seeds)


@BOTH
def test_no_network_is_scored_twice(name: str) -> None:
    task = run(name, problem(budget=60))
    assert task.scored == 60 == len(task.pool)


@BOTH
def test_an_ensemble_is_climbed_too(name: str) -> None:
    task = run(name, problem(budget=60, by=Ensemble.parse("log_rank(params,macs)")))
    assert task.scored == 60
    assert task.pool.utility(task.pool.best(1)[0]) == pytest.approx(0)  # first by both


@BOTH
def test_workers_change_nothing(name: str) -> None:
    found = []
    for executor in (make_executor(0), make_executor(2)):
        service = ScoreService(SETTING, [PARAMS], executor, Store(":memory:"))
        task = Problem(service, Objective(PARAMS), random.Random(3), 60)
        with executor.staying():
            found.append(run(name, task).pool.best())
    assert found[0] == found[1]


@BOTH
def test_limits_that_nothing_meets(name: str) -> None:
    with pytest.raises(LimitError, match="at most 10 parameters"):
        run(name, problem(max_params=10))


def test_parents_are_among_the_youngest() -> None:
    task, alive = problem(budget=80), []
    original = task.best_of

    def watched(candidates: Sequence[Candidate]) -> Candidate:
        youngest = task.pool.texts[-12:]
        alive.extend(candidate.network.architecture in youngest for candidate in candidates)
        return original(candidates)

    task.best_of = watched  # type: ignore[method-assign]
    run("evolution:population=12:children=1:tournament=5", task)
    assert len(alive) == 5 * (80 - 12)
    assert all(alive)


def test_mutations_fall_over_the_generations_as_published() -> None:
    counts = [falling_mutations(generation, 240) for generation in range(240)]
    assert counts == [6] + 48 * [5] + 48 * [4] + 48 * [3] + 48 * [2] + 47 * [1]
    assert [falling_mutations(generation, 30) for generation in (0, 10, 11, 29)] == [2, 2, 1, 1]
    assert falling_mutations(7, 0) == 1


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[Problem, list[int]]:
    """A search among networks for clicks, and how many choices each of its mutations drew anew."""
    changes: list[int] = []
    original = NasRecSmall.mutate_often

    def watched(space: NasRecSmall, architecture: Any, rng: random.Random, times: int) -> Any:
        changes.append(times)
        return original(space, architecture, rng, times)

    monkeypatch.setattr(NasRecSmall, "mutate_often", watched)
    service = ScoreService(Setting("nasrec-small"), [PARAMS], make_executor(0), Store(":memory:"))
    return run(name, Problem(service, Objective(PARAMS), random.Random(0), 30)), changes


def test_generations_end_and_change_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    task, changes = counted(monkeypatch, "evolution:population=3:tournament=2:children=1:generations=21")
    assert task.scored == AlgorithmRequest.parse("evolution:population=3:children=1:generations=21").budget == 24
    assert AlgorithmRequest.parse("evolution").budget is AlgorithmRequest.parse("random").budget is None
    assert changes[:2] == [2, 2]
    assert set(changes[2:]) == {1}
    assert not task.notes
    _, changes = counted(monkeypatch, "evolution:population=3:children=2:generations=3:mutations=4")
    assert set(changes) == {4}


def test_a_search_too_short_for_its_generations_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = counted(monkeypatch, "evolution:population=5:children=5:generations=6")
    assert task.scored == 30
    assert "6 generations need 35" in task.notes[0]


def test_idle_choices_of_networks_for_clicks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = counted(monkeypatch, "evolution:population=8:children=4:generations=2")
    found = list(map(task.space.parse, task.pool.texts))
    assert any(task.space.canonical(architecture) != architecture for architecture in found[8:])
    assert any(task.space.canonical(architecture) != architecture for architecture in found[:8])


def test_growth_starts_from_the_initial_network() -> None:
    """The first ten differ from it in one block; nothing exceeds the papers' number of layers."""
    setting = Setting("plainnet-resnet")
    space = setting.space
    initial = space.parse(space.initial)
    service = ScoreService(setting, [PARAMS], make_executor(0), Store(":memory:"))
    task = Problem(service, Objective(PARAMS, Limits(max_params=2_000_000)), random.Random(0), 40)
    run("evolution-budget:children=6", task)
    texts = task.pool.texts
    assert len(texts) == 40
    for text in texts[:10]:
        blocks = space.parse(text).blocks
        same_kinds = [
            (one.kind, one.bottleneck, one.sublayers) == (other.kind, other.bottleneck, other.sublayers)
            for one, other in zip(blocks, initial.blocks, strict=False)
        ]
        assert len(blocks) > len(initial.blocks) or same_kinds.count(False) <= 1
    assert all(space.parse(text).layers <= 18 for text in texts)
    assert all(space.cost(space.parse(text)).params <= 2_000_000 for text in texts)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("evolutoin", UnknownNameError, "evolution"),
        ("evolution:size=3", SettingError, "settings: population, tournament, children, generations, mutations"),
        ("evolution:population=0", SettingError, "it must be 1 or more"),
        ("evolution:population=many", SettingError, "expected a whole number"),
        ("random:population=4", SettingError, "settings: none"),
    ],
)
def test_settings_that_make_no_sense(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AlgorithmRequest.parse(text)


def test_growth_can_start_from_another_network() -> None:
    start = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"
    task = run(f"evolution-budget:initial={start}:mutations=1", problem(budget=10))
    operations = [task.space.parse(text).operations for text in task.pool.texts]
    assert all(sum(op != "nor_conv_3x3" for op in own) <= 2 for own in operations)  # one, or two by a detour
    colons = AlgorithmRequest.parse("evolution-budget:initial=8:16:24:32:40:mutations=1")
    assert dict(colons.settings) == {"initial": "8:16:24:32:40", "mutations": 1}
    with pytest.raises(ParseError, match="Cannot read this text"):
        run("evolution-budget:initial=nothing", problem(budget=10))


def test_settings_at_their_default_are_not_written() -> None:
    assert str(AlgorithmRequest.parse("evolution:population=64:children=4")) == "evolution:children=4"


def test_generations_cross_and_mutate_within_a_band() -> None:
    setting = Setting("autoformer-tiny")
    service = ScoreService(setting, [PARAMS], make_executor(0), Store(":memory:"))
    limits = Limits(min_params=6_000_000, max_params=7_000_000)
    task = Problem(service, Objective(PARAMS, limits), random.Random(0), 90)
    run("autoformer-evolution:population=30:mutants=10:crossings=10", task)
    assert task.scored == 90 == len(task.pool)
    sizes = list(task.pool.utilities().values())
    assert all(size is not None and 6_000_000 <= size <= 7_000_000 for size in sizes)


def test_spaces_without_crossing_have_mutants_and_newcomers() -> None:
    task = run("autoformer-evolution:population=12:mutants=5:crossings=5", problem(budget=40))
    assert task.scored == 40 == len(task.pool)
