"""Evolution: networks are mutated, and the better ones have the children."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from firstlight.search.algorithm import AlgorithmRequest, algorithm
from firstlight.search.objective import Candidate
from firstlight.search.problem import PATIENCE, Problem
from firstlight.spaces.base import Architecture

# So many networks come from the initial one before their children have children
FIRST_STEPS = 10
# How many pairs are crossed for each crossing that is wanted, before a generation makes do with fewer
CROSSING_ATTEMPTS = 10


@algorithm(reference="Real2019evolution")
def evolution(
    problem: Problem,
    *,
    population: int = 64,
    tournament: int = 16,
    children: int = 8,
    generations: int = 0,
    mutations: int = 0,
) -> None:
    """Regularised evolution: the best of a few drawn at random has children, and the oldest die.

    Ageing keeps a network that was lucky once from staying for ever. All `children` have one parent and are scored at a
    time, so that every worker has something to do. A child differs from its parent by `mutations`, by default one.

    With a number of `generations`, it ends after so many, mutations are many at first and few in the end unless their
    number is given, and children have to differ from each other only (Zhang et al., WWW 2023).
    """
    living = deque(first_population(problem, problem.distinct_samples(), population))
    seen = set() if generations else {candidate.network.architecture for candidate in living}
    if generations and problem.remaining < generations * children:
        problem.notes.append(
            f"The evolution ends before its last generation: {problem.budget:,} networks were asked for, and "
            f"{evolution_size(population, children, generations):,} are needed for {generations} generations."
        )
    for generation in range(generations) if generations else itertools.count():
        if not (problem.remaining and living):
            return
        drawn = problem.rng.sample(list(living), min(tournament, len(living)))
        parent = problem.best_of(drawn).network.architecture
        changes = mutations or falling_mutations(generation, generations)
        brood = problem.score_all(itertools.islice(new_mutants(problem, seen, [parent], changes), children))
        if not brood:
            return  # everything within reach has been seen
        living.extend(brood)
        for _ in range(len(living) - population):
            living.popleft()


def evolution_size(population: int, children: int, generations: int) -> int:
    """How many networks an evolution of so many generations scores."""
    return population + generations * children


def networks_of(request: AlgorithmRequest) -> int | None:
    """How many networks an algorithm scores that counts generations; None if it goes on as long as it may."""
    settings = {name: p.default for name, p in request.algorithm.settings.items()} | dict(request.settings)
    if not settings.get("generations"):
        return None
    return evolution_size(settings["population"], settings["children"], settings["generations"])


def falling_mutations(generation: int, generations: int) -> int:
    """How many choices are drawn anew for each child: 6 in the first of 240 generations, 1 in the last 47.

        (G - g) // max(20, G // 5) + 1

    Generations g count from 0. Without an end (G = 0) it is one.
    """
    return (generations - generation) // max(20, generations // 5) + 1 if generations else 1


@algorithm(reference="Lin2021zennas")
def evolution_budget(
    problem: Problem, *, population: int = 512, mutations: int = 2, children: int = 16, initial: str = ""
) -> None:
    """Evolution up to a budget: all of the best may have children, and the others are left behind.

    It starts from the network `initial`, by default that of the space if it has one, else from a few at random. Every
    child has a parent of its own, drawn from the best `population` of all networks scored so far, and differs from it
    in `mutations` places. An ensemble ranks all of them anew each time. Networks beyond the limits cost nothing, and
    none is scored twice, as it may be in the papers; those with more layers than the papers allow are beyond them too.
    """
    seen: set[str] = set()
    start = initial or problem.space.initial
    if start:
        first = new_mutants(problem, seen, [start])
    else:
        first = problem.distinct_samples()
    brood = problem.score_all(itertools.islice(first, FIRST_STEPS))
    seen |= {candidate.network.architecture for candidate in brood}
    while problem.remaining and brood:
        parents = problem.pool.best(population)
        brood = problem.score_all(itertools.islice(new_mutants(problem, seen, parents, mutations), children))


@algorithm(reference="Chen2021autoformer")
def autoformer_evolution(
    problem: Problem, *, population: int = 50, parents: int = 10, mutants: int = 25, crossings: int = 25
) -> None:
    """Generations of mutants and crossings of the best ones seen so far, filled up at random.

    A crossing takes each choice from one of two parents of equal depth; a space whose architectures cannot be crossed
    has mutants and newcomers only.
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
        generation = problem.score_all(itertools.islice(children, population))


def first_population(problem: Problem, drawn: Iterable[Architecture], size: int) -> list[Candidate]:
    """So many to begin with; if that is all there is time for, the user should know that nothing evolved."""
    if problem.remaining <= size:
        problem.notes.append(
            f"All networks were drawn at random: {problem.remaining} are not enough for a population of {size} and its "
            "children. Score more, or take a smaller population (written as in evolution:population=10)."
        )
    return problem.score_all(itertools.islice(drawn, size))


def _crossings(problem: Problem, parents: Sequence[str], wanted: int) -> Iterator[Architecture]:
    """Children of two parents at a time, as many as are worth trying."""
    space: Any = problem.space
    if not hasattr(space, "crossover"):
        return
    known = list(map(space.parse, parents))
    for _ in range(CROSSING_ATTEMPTS * wanted):
        first = problem.rng.choice(known)
        second = problem.rng.choice([other for other in known if other.depth == first.depth])
        yield space.crossover(first, second, problem.rng)


def _unseen(problem: Problem, seen: set[str], drawn: Iterable[Architecture]) -> Iterator[Architecture]:
    """Those within the limits that nobody has seen."""
    for architecture in map(problem.space.identity, drawn):
        if str(architecture) not in seen and problem.allows(architecture):
            seen.add(str(architecture))
            yield architecture


def new_mutants(problem: Problem, seen: set[str], parents: Sequence[str], mutations: int = 1) -> Iterator[Architecture]:
    """Children of any of the parents, within the limits and not seen before; one that was seen is mutated on."""
    space, rng = problem.space, problem.rng
    child = space.parse(rng.choice(parents))
    misses = 0
    while misses < PATIENCE:
        misses += 1
        child = space.mutate_often(child, rng, mutations)
        known_as = space.identity(child)
        if str(known_as) in seen:
            continue
        if problem.allows(known_as):
            seen.add(str(known_as))
            misses = 0
            yield known_as
        child = space.parse(rng.choice(parents))
