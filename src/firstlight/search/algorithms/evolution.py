"""Evolution: networks are mutated, and better ones have more children."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from firstlight.search.algorithm import InQueries, algorithm
from firstlight.search.objective import Candidate
from firstlight.search.problem import PATIENCE, Problem
from firstlight.spaces.base import Architecture

# The number of mutants of the initial network, before their children have children.
FIRST_STEPS = 10
# The number of pairs that are tried for each crossing, before a generation goes on with fewer.
CROSSING_ATTEMPTS = 10


def networks_scored(settings: Mapping[str, Any]) -> int | None:
    """Return the number of networks that an evolution with a number of generations scores; None without one."""
    generations = int(settings["generations"])
    return int(settings["population"]) + generations * int(settings["children"]) if generations else None


@algorithm(reference="Real2019evolution", budget=networks_scored)
def evolution(
    problem: Problem,
    *,
    population: Annotated[int, InQueries(10)] = 64,
    tournament: Annotated[int, InQueries(10)] = 16,
    children: Annotated[int, InQueries(1)] = 8,
    generations: int = 0,
    mutations: int = 0,
) -> None:
    """Regularized evolution: the best of a random tournament has children, and the oldest networks die.

    Aging removes networks that were lucky once. All children of a parent are scored together, so that no worker is
    idle. In a query search, the defaults are those published for NAS-Bench-201: the best of ten living networks has the
    next child.

    With a number of `generations`, the number of mutations decreases from generation to generation, and children only
    need to differ from each other (Zhang et al., WWW 2023).

    Args:
        population: Number of living networks.
        tournament: Number of networks drawn for a tournament; the best of them is the next parent.
        children: Number of children of a parent, which are scored together.
        generations: Stop after this many generations; 0 stops when the budget is spent.
        mutations: Number of mutations between parent and child. Default: 1, or a decreasing number with `generations`.
    """
    living = deque(first_population(problem, problem.distinct_samples(), population))
    seen = set() if generations else {candidate.network.architecture for candidate in living}
    if generations and problem.remaining < generations * children:
        problem.notes.append(
            f"The evolution ended before its last generation: the budget is {problem.budget:,} networks, and "
            f"{generations} generations need {population + generations * children:,}."
        )
    for generation in range(generations) if generations else itertools.count():
        if not (problem.remaining and living):
            return
        drawn = problem.rng.sample(list(living), min(tournament, len(living)))
        parent = problem.best_of(drawn).network.architecture
        changes = mutations or falling_mutations(generation, generations)
        brood = problem.score(itertools.islice(new_mutants(problem, seen, [parent], changes), children))
        if not brood:
            return  # no new network is within reach
        living.extend(brood)
        for _ in range(len(living) - population):
            living.popleft()


def falling_mutations(generation: int, generations: int) -> int:
    """Return the number of mutations with `generations`: 6 in the first of 240 generations, 1 in the last 47.

        (G - g) // max(20, G // 5) + 1

    Generations g count from 0. Without an end (G = 0) it is 1.
    """
    return (generations - generation) // max(20, generations // 5) + 1 if generations else 1


@algorithm(reference="Lin2021zennas")
def evolution_budget(
    problem: Problem, *, population: int = 512, mutations: int = 2, children: int = 16, initial: str = ""
) -> None:
    """Evolution up to a budget: each child has a parent among the best networks so far.

    It starts from an initial network, or from a few random ones. An ensemble ranks all networks again in every round.
    Networks outside the limits do not count toward the budget. Unlike in the papers, no network is scored twice.
    Networks with more layers than the papers allow count as outside the limits.

    Args:
        population: Parents are drawn from this many of the best networks so far.
        mutations: Number of mutations between parent and child.
        children: Number of children that are scored together.
        initial: Text of the architecture to start from. Default: the initial architecture of the space, if it has one.
    """
    seen: set[str] = set()
    start = initial or problem.space.initial
    if start:
        first = new_mutants(problem, seen, [start])
    else:
        first = problem.distinct_samples()
    brood = problem.score(itertools.islice(first, FIRST_STEPS))
    seen |= {candidate.network.architecture for candidate in brood}
    while problem.remaining and brood:
        parents = problem.pool.best(population)
        brood = problem.score(itertools.islice(new_mutants(problem, seen, parents, mutations), children))


@algorithm(reference="Chen2021autoformer")
def autoformer_evolution(
    problem: Problem, *, population: int = 50, parents: int = 10, mutants: int = 25, crossings: int = 25
) -> None:
    """Generations of mutants and crossovers of the best networks so far, filled up with random ones.

    A crossover takes each choice from one of two parents of equal depth. In a space without crossover, there are only
    mutants and random networks.

    Args:
        population: Number of networks in a generation.
        parents: Number of the best networks that become parents.
        mutants: Number of mutants in a generation.
        crossings: Number of crossovers in a generation.
    """
    seen: set[str] = set()
    newcomers = _unseen(problem, seen, problem.distinct_samples())
    generation = first_population(problem, newcomers, population)
    while problem.remaining and generation:
        best = problem.pool.best(parents)
        children = itertools.chain(
            itertools.islice(new_mutants(problem, seen, best), mutants),
            itertools.islice(_unseen(problem, seen, _crossings(problem, best, crossings)), crossings),
            newcomers,
        )
        generation = problem.score(itertools.islice(children, population))


def first_population(problem: Problem, drawn: Iterable[Architecture], size: int) -> list[Candidate]:
    """Score the first networks, and leave a note if the budget ends with them, so that nothing evolves."""
    if problem.remaining <= size:
        problem.notes.append(
            f"All networks are random: {problem.remaining} are not enough for a population of {size} and its "
            "children. Score more networks, or use a smaller population, such as evolution:population=10."
        )
    return problem.score(itertools.islice(drawn, size))


def _crossings(problem: Problem, parents: Sequence[str], wanted: int) -> Iterator[Architecture]:
    """Yield crossings of two parents each."""
    space: Any = problem.space
    if not hasattr(space, "crossover"):
        return
    known = list(map(space.parse, parents))
    for _ in range(CROSSING_ATTEMPTS * wanted):
        first = problem.rng.choice(known)
        second = problem.rng.choice([other for other in known if other.depth == first.depth])
        yield space.crossover(first, second, problem.rng)


def _unseen(problem: Problem, seen: set[str], drawn: Iterable[Architecture]) -> Iterator[Architecture]:
    """Yield the architectures within the limits that were not seen before."""
    for architecture in map(problem.space.identity, drawn):
        if str(architecture) not in seen and problem.fits(architecture):
            seen.add(str(architecture))
            yield architecture


def new_mutants(problem: Problem, seen: set[str], parents: Sequence[str], mutations: int = 1) -> Iterator[Architecture]:
    """Yield mutants of random parents, within the limits and not seen before; one that was seen is mutated again."""
    space, rng = problem.space, problem.rng
    child = space.parse(rng.choice(parents))
    misses = 0
    while misses < PATIENCE:
        misses += 1
        child = space.mutate_often(child, rng, mutations)
        known_as = space.identity(child)
        if str(known_as) in seen:
            continue
        if problem.fits(known_as):
            seen.add(str(known_as))
            misses = 0
            yield known_as
        child = space.parse(rng.choice(parents))
