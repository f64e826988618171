"""Contracts of search algorithms."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any

from torch import nn

from firstlight.core.errors import LimitError
from firstlight.core.events import Event
from firstlight.evaluation.truth import TRUTH
from firstlight.execution.executor import InProcess
from firstlight.options import Limits
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Criterion, members, parse_criterion
from firstlight.scoring.service import ScoreService, Setting, source_for, with_cost
from firstlight.search.algorithm import Algorithm, AlgorithmRequest
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.problem import Problem
from firstlight.search.queries import Queries
from firstlight.search.source import Source
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.custom import choices
from firstlight.spaces.in_space import in_space
from firstlight.storage.store import Store
from firstlight.testing.contract import BrokenError, Contract, expect, global_seed

# An algorithm that asks more often than this after its budget is spent does not end.
MOST_EMPTY_ANSWERS = 1_000
# The random architectures that a limit is chosen by.
FOR_LIMIT = 30
# For algorithms that search the supernet or the one-shot network of a space.
WITH_SUPERNET, SMALL_SKELETON = "nasbench201", {"cells": 1, "channels": 4, "input_shape": (3, 8, 8)}


@choices(width=(2, 4, 6, 8), depth=(1, 2, 3), kernel=(1, 3), bias=(True, False))
def small_networks(
    width: int, depth: int, kernel: int, bias: bool, input_shape: tuple[int, ...], classes: int
) -> nn.Module:
    """48 small convolutional networks."""
    sizes = [input_shape[0], *[width] * depth]
    layers = [nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=bias) for inputs, outputs in pairwise(sizes)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


@dataclass
class Recorder:
    """What an algorithm did: the candidates in the order in which they were scored."""

    problem: Problem
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The texts of the architectures."""
        return [candidate.network.architecture for candidate in self.candidates]


@dataclass(frozen=True)
class AlgorithmCase:
    """What an algorithm is checked with.

    Attributes:
        request: The algorithm with its settings.
        setting: How networks are made.
        by: The proxy or ensemble that networks are scored by.
        budget: The number of networks that may be scored.
    """

    request: AlgorithmRequest
    setting: Setting
    by: Criterion
    budget: int

    def run(
        self,
        *,
        seed: int = 0,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        store: Store | None = None,
        backwards: bool = False,
        queries: bool = False,
    ) -> Recorder:
        """Run the algorithm, in a query search if it needs the truth or is asked to."""
        store, rng = store or Store(":memory:"), random.Random(seed)
        recorder: Recorder

        def record(event: Event) -> None:
            if isinstance(event.item, Candidate):
                recorder.candidates.append(event.item)

        if queries or self.request.algorithm.needs_truth:
            truth = _MadeUpTruth(self.setting, backwards=backwards)
            measuring = Measuring(self.setting, InProcess(), store)
            objective = Objective(TRUTH, limits)
            problem: Problem = _EndingQueries(truth, objective, rng, self.budget, measuring=measuring, callback=record)
        else:
            service = _Service(self.setting, members(self.by), InProcess(), store)
            service.backwards = backwards
            problem = _Ending(service, Objective(self.by, limits), rng, self.budget, callback=record)
        recorder = Recorder(problem)
        self.request.run(problem)
        return recorder

    @property
    def searches_networks(self) -> bool:
        """Whether it scores networks one after the other, and not only those that a supernet leads to."""
        return not self.request.algorithm.searches_supernet


def check_algorithm(
    algorithm: str | Algorithm,
    *,
    space: str | Space[Any] | None = None,
    skeleton: dict[str, Any] | None = None,
    proxy: str = "params",
    budget: int = 12,
) -> None:
    """Check that a search algorithm keeps its contracts, by a few small searches.

    Args:
        algorithm: The algorithm: a name with its settings, `module:name`, or an object.
        space: The space to search. Default: one of 48 small networks, or a small skeleton of `nasbench201` for an
            algorithm that needs a supernet.
        skeleton: Settings of the skeleton.
        proxy: The proxy or ensemble that networks are scored by.
        budget: The number of networks that may be scored.

    Raises:
        ContractError: At the first contract that is broken, with its name and what was found.

    >>> from firstlight.testing import check_algorithm
    >>> check_algorithm("evolution:population=5")
    """
    for contract in algorithm_checks(algorithm, space=space, skeleton=skeleton, proxy=proxy, budget=budget):
        contract()


def algorithm_checks(
    algorithm: str | Algorithm,
    *,
    space: str | Space[Any] | None = None,
    skeleton: dict[str, Any] | None = None,
    proxy: str = "params",
    budget: int = 12,
) -> list[Contract[AlgorithmCase]]:
    """Return the contracts that `check_algorithm` checks, each to be called, as for `pytest.mark.parametrize`."""
    request = AlgorithmRequest.parse(algorithm)
    by = parse_criterion(proxy)
    if space is None and request.algorithm.searches_supernet:
        space, skeleton = WITH_SUPERNET, SMALL_SKELETON | (skeleton or {})
    setting = Setting(
        **in_space(small_networks if space is None else space),
        source=source_for(members(by)),
        skeleton_settings=tuple(sorted((skeleton or {}).items())),
    )
    request.algorithm.check(setting.space)
    case = AlgorithmCase(request, setting, by, budget)
    return [Contract(f"The algorithm {str(request)!r}", case, test) for test in CONTRACTS]


def keeps_the_budget(case: AlgorithmCase) -> None:
    """It scores at least one network and at most as many as the budget allows, and then ends."""
    found = case.run()
    expect(bool(found.candidates), "it scores no network")
    expect(
        len(found.candidates) <= case.budget,
        f"it scores {len(found.candidates)} networks, but the budget is {case.budget}",
    )


def scores_no_network_twice(case: AlgorithmCase) -> None:
    """No network is scored twice, which would waste the budget. `str(architecture) in problem.pool` tells whether one
    was scored before."""
    found, seen = case.run(), set[str]()
    for candidate in found.candidates:
        key = f"{candidate.network.architecture} {_epochs(candidate)}"
        expect(key not in seen, f"{candidate.network.architecture} is scored twice")
        seen.add(key)


def keeps_the_limits(case: AlgorithmCase) -> None:
    """It scores only networks within the limits, for which `problem.fits` is True."""
    rng, space = random.Random(0), case.setting.space
    drawn = [space.sample(rng) for _ in range(FOR_LIMIT)]
    limit = int(median(space.cost(architecture, case.setting.skeleton).params for architecture in drawn))
    try:
        found = case.run(limits=Limits(max_params=limit))
    except LimitError:
        if case.searches_networks:
            raise
        return  # the network that it decides on does not fit
    for text in found.texts:
        params = space.cost(space.parse(text), case.setting.skeleton).params
        expect(params <= limit, f"{text} has {params:,} parameters, but the limit is {limit:,}")


def is_deterministic(case: AlgorithmCase) -> None:
    """The same seed leads to the same networks in the same order. All random numbers come from `problem.rng`."""
    with global_seed(1):
        first = case.run(seed=3).texts
    with global_seed(2):
        again = case.run(seed=3).texts
    _expect_equal(first, again, "the same seed")


def does_not_depend_on_workers(case: AlgorithmCase) -> None:
    """The order in which scores become known, which depends on the workers, has no influence on the networks."""
    forwards, backwards = case.run(seed=4).texts, case.run(seed=4, backwards=True).texts
    _expect_equal(sorted(forwards), sorted(backwards), "a different order of arriving scores")


def replays_from_the_store(case: AlgorithmCase) -> None:
    """When it runs again, it asks for the same networks, so that an interrupted search resumes from the store."""
    store = Store(":memory:")
    first, again = case.run(store=store), case.run(store=store)
    _expect_equal(first.texts, again.texts, "a second run with the same store")
    if not case.request.algorithm.needs_truth:
        computed = [candidate.network.architecture for candidate in again.candidates if not candidate.network.reused]
        expect(not computed, f"{computed[:1]} is computed again")


def learns_from_queries(case: AlgorithmCase) -> None:
    """It also searches by true performance, where every score is a query, unless it searches a supernet."""
    if not case.searches_networks:
        return
    found = case.run(queries=True)
    expect(bool(found.candidates), "it evaluates no network in a query search")
    expect(
        len(found.candidates) <= case.budget,
        f"it makes {len(found.candidates)} queries, but the budget is {case.budget}",
    )
    _expect_equal(found.texts, case.run(queries=True).texts, "a second query search with the same seed")


def survives_failures(case: AlgorithmCase) -> None:
    """It continues if a network has no score; its `utility` is then None."""
    if not case.searches_networks:
        return
    if case.request.algorithm.needs_truth:
        return  # proxies choose the networks, and leave those out
    service = _Failing(case.setting, members(case.by), InProcess(), Store(":memory:"))
    problem = _Ending(service, Objective(case.by), random.Random(0), case.budget)
    case.request.run(problem)
    expect(problem.scored > 0, "it scores no network")


CONTRACTS: tuple[Callable[[AlgorithmCase], None], ...] = (
    keeps_the_budget,
    scores_no_network_twice,
    keeps_the_limits,
    is_deterministic,
    does_not_depend_on_workers,
    replays_from_the_store,
    learns_from_queries,
    survives_failures,
)


def _epochs(candidate: Candidate) -> float | None:
    """Return the fidelity of a query, so that a network may be asked about at several."""
    score = candidate.network.scores.get(str(TRUTH))
    return None if score is None else score.parts.get("epochs")


def _expect_equal(first: list[str], second: list[str], what: str) -> None:
    for place, (one, other) in enumerate(zip(first, second, strict=False), start=1):
        expect(one == other, f"{what} gives another network, number {place} of {len(first)}: {other} instead of {one}")
    expect(len(first) == len(second), f"{what} gives {len(second)} networks instead of {len(first)}")


class _Ending(Problem):
    """A problem that gives up on an algorithm that does not end."""

    _empty = 0

    def score_as_completed(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        if self.remaining <= 0:
            self._empty += 1
            if self._empty > MOST_EMPTY_ANSWERS:
                raise BrokenError("it keeps asking for scores when problem.remaining is 0")
        return super().score_as_completed(architectures)


class _EndingQueries(_Ending, Queries):
    """A query search that does the same."""


class _Service(ScoreService):
    """Scores in the order asked, or in the opposite one."""

    backwards = False

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        found = super().scores(architectures)
        return reversed(list(found)) if self.backwards else found


class _Failing(ScoreService):
    """Every other network has no score."""

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        for number, network in enumerate(super().scores(architectures)):
            failed = {name: Score.without_value("failed", "made to fail") for name in network.scores}
            yield replace(network, scores=failed) if number % 2 else network


@dataclass(frozen=True)
class _MadeUpTruth:
    """True performance that is made up: larger networks are better, and longer training tells more."""

    setting: Setting
    backwards: bool = False
    epochs: int = 4

    @property
    def fidelities(self) -> tuple[int, ...]:
        return (1, 4)

    def at(self, epochs: int) -> Source:
        return replace(self, epochs=epochs)

    def knows(self, architecture: str) -> bool:
        return True

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        found = [self._answer(text) for text in dict.fromkeys(architectures)]
        return reversed(found) if self.backwards else iter(found)

    def _answer(self, text: str) -> NetworkScore:
        space = self.setting.space
        params = space.cost(space.parse(text), self.setting.skeleton).params
        value = params * (1 - random.Random(text).random() / self.epochs)
        score = Score(value, {"epochs": float(self.epochs)}, seconds=float(self.epochs))
        return with_cost(self.setting, text, {str(TRUTH): score})
