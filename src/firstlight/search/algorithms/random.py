"""Random search: the plainest algorithm, and the baseline that every other one must beat."""

from __future__ import annotations

from firstlight.search.algorithm import algorithm
from firstlight.search.problem import Problem


@algorithm()
def random(problem: Problem) -> None:
    """Score different networks drawn at random within the limits until the budget is spent; the best one wins."""
    for _ in problem.score(problem.distinct_samples()):
        pass
