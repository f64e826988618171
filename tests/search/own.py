"""An algorithm of a user's own, at the top level of a module."""

from __future__ import annotations

import itertools

from firstlight import Problem, algorithm


@algorithm(costs=("macs",))
def first_few(problem: Problem, *, count: int = 3, start: str = "") -> None:
    """Score the first few networks.

    Args:
        count: Number of networks.
        start: Text of an architecture to begin with.
    """
    begin = [problem.space.parse(start)] if start else []
    problem.score(itertools.islice(itertools.chain(begin, problem.distinct_samples()), count))


def no_algorithm(problem: Problem) -> None:
    """Not decorated."""
