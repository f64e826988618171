"""Several objectives at once: a Pareto front of networks."""

from __future__ import annotations

import itertools

import numpy as np

from firstlight.search.algorithm import algorithm
from firstlight.search.algorithms.evolution import first_population, new_mutants
from firstlight.search.front import crowding, layers
from firstlight.search.problem import Problem


@algorithm(reference="Deb2002nsga", costs=("macs",))
def pareto(problem: Problem, *, population: int = 64, children: int = 32, mutations: int = 1) -> None:
    """Evolution toward a Pareto front of score against costs (NSGA-II).

    The objectives are the score and the costs of `--objectives`. Networks are sorted into layers: each layer is the
    Pareto front of the networks outside the previous layers. Within a layer, a larger crowding distance is better.
    Parents win a tournament of two, and the best of parents and children survive.

    Args:
        population: Number of networks that survive.
        children: Number of children that are scored together.
        mutations: Number of mutations between parent and child.
    """
    first = first_population(problem, problem.distinct_samples(), population)
    living = [candidate.network.architecture for candidate in first]
    seen = set(living)
    while problem.remaining and living:
        order = _best_first(problem, living)
        pairs = (problem.rng.sample(range(len(order)), 2) if len(order) > 1 else [0] for _ in range(children))
        parents = [order[min(pair)] for pair in pairs]
        brood = problem.score(itertools.islice(new_mutants(problem, seen, parents, mutations), children))
        if not brood:
            return  # no new network is within reach
        everyone = [*order, *(candidate.network.architecture for candidate in brood)]
        living = _best_first(problem, everyone)[:population]


def _best_first(problem: Problem, texts: list[str]) -> list[str]:
    """Sort networks by layer, and by crowding distance within a layer."""
    points = problem.objective_values(texts)
    layer = layers(points)
    room = np.zeros(len(texts))
    for number in np.unique(layer):
        room[layer == number] = crowding(points[layer == number])
    return [texts[place] for place in sorted(range(len(texts)), key=lambda p: (layer[p], -room[p], texts[p]))]
