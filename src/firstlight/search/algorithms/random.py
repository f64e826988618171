"""Random search: the simplest algorithm, and the baseline for all others."""

from __future__ import annotations

from firstlight.search.algorithm import algorithm
from firstlight.search.problem import Problem


@algorithm
def random(problem: Problem) -> None:
    """Score random networks within the limits until the budget is spent."""
    for _ in problem.score_as_completed(problem.distinct_samples()):
        pass
