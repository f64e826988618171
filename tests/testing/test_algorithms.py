"""An algorithm that breaks one contract is told which one, and with what."""

from __future__ import annotations

import itertools
import random

import pytest

from firstlight import Problem, algorithm
from firstlight.search.algorithm import Algorithm
from firstlight.testing import ContractError, algorithm_checks, check_algorithm
from firstlight.testing.algorithms import CONTRACTS


@algorithm
def climb(problem: Problem, *, neighbors: int = 3) -> None:
    """Go to the best of a few neighbors as long as there are new ones, else start again."""
    for start in problem.distinct_samples():
        if str(start) in problem.pool:
            continue
        here = problem.score([start])
        while here and problem.remaining:
            origin = problem.space.parse(here[0].network.architecture)
            around = [problem.space.mutate(origin, problem.rng) for _ in range(neighbors)]
            new = problem.score(a for a in dict.fromkeys(around) if str(a) not in problem.pool and problem.fits(a))
            here = [problem.best_of(new)] if new else []
        if not problem.remaining:
            return


@algorithm
def idle(problem: Problem) -> None:
    """Scores nothing."""


@algorithm
def endless(problem: Problem) -> None:
    """Never ends."""
    while True:
        problem.score(problem.distinct_samples())


@algorithm
def repeats(problem: Problem) -> None:
    """Scores the same network again and again."""
    (first,) = itertools.islice(problem.distinct_samples(), 1)
    while problem.remaining:
        problem.score([first])


@algorithm
def greedy(problem: Problem) -> None:
    """Takes no notice of the limits."""
    problem.score(problem.space)


@algorithm
def global_numbers(problem: Problem) -> None:
    """Draws from the global random numbers."""
    drawn = [problem.space.sample(random.getrandbits(32)) for _ in range(40)]
    problem.score(a for a in dict.fromkeys(drawn) if problem.fits(a))


@algorithm
def hasty(problem: Problem) -> None:
    """Decides by what comes in first."""
    drawn = list(itertools.islice(problem.distinct_samples(), 4))
    first = next(candidate.network.architecture for candidate in problem.score_as_completed(drawn))
    parent = problem.space.parse(first)
    around = dict.fromkeys(problem.space.mutate(parent, problem.rng) for _ in range(30))
    problem.score(a for a in around if str(a) not in problem.pool and problem.fits(a))


MEMORY: list[int] = []


@algorithm
def remembers(problem: Problem) -> None:
    """Finds something else each time that it is run, after the first few."""
    MEMORY.append(1)
    drawn = list(itertools.islice(problem.distinct_samples(), 24))
    problem.score(drawn[::-1] if len(MEMORY) == 9 else drawn)


@algorithm
def trusting(problem: Problem) -> None:
    """Takes it that every network has a score."""
    drawn = problem.score(problem.distinct_samples())
    max(drawn, key=lambda candidate: candidate.utility + 0.0)  # type: ignore[operator]


@pytest.mark.parametrize("entry", [climb, f"{__name__}:climb:neighbors=2"], ids=["object", "name"])
def test_a_good_one_keeps_all_contracts(entry: str | Algorithm) -> None:
    check_algorithm(entry)


@pytest.mark.parametrize(
    ("entry", "contract", "found"),
    [
        (idle, "keeps_the_budget", "it scores no network"),
        (endless, "keeps_the_budget", "when problem.remaining is 0"),
        (repeats, "scores_no_network_twice", "is scored twice"),
        (greedy, "keeps_the_limits", "parameters, but the limit is"),
        (global_numbers, "is_deterministic", "the same seed gives another network"),
        (hasty, "does_not_depend_on_workers", "order of arriving scores gives another network"),
        (remembers, "replays_from_the_store", "a second run with the same store gives another network"),
        (trusting, "survives_failures", "TypeError: unsupported operand"),
    ],
    ids=lambda value: value.name if isinstance(value, Algorithm) else "",
)
def test_a_broken_contract_is_named(entry: Algorithm, contract: str, found: str) -> None:
    with pytest.raises(
        ContractError, match=f"The algorithm '.*' breaks the contract '{contract}': .*{found}"
    ) as caught:
        check_algorithm(entry)
    assert caught.value.contract == contract


SETTINGS = {
    "evolution": ":population=5",
    "autoformer-evolution": ":population=5:mutants=2:crossings=2",
    "pareto": ":population=5:children=3",
    "bohb": ":startup=4",
    "hnas": ":metric=params:pool=20:narrow=false",
    "verify": ":by=params:pool=20",
    "portfolio": ":by=params+macs:pool=20",
    "zero-cost-pt": ":proposals=2",
    "prune": ":prune_number=4:repeats=1:kernel_samples=2:region_samples=10",
    "nasi": ":steps=3:batch=2:nu_samples=2",
    "nasi-ridge": ":steps=3:batch=2",
}


@pytest.mark.parametrize("name", ["random", "evolution-budget", "reinforce", *SETTINGS])
def test_all_algorithms_keep_their_contracts(name: str) -> None:
    check_algorithm(name + SETTINGS.get(name, ""), budget=8)


def test_the_list_of_contracts() -> None:
    assert [contract.name for contract in algorithm_checks("random")] == [test.__name__ for test in CONTRACTS]
