"""What a search algorithm is: a plain function of a `Problem`, which remembers the best network it has scored."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from firstlight.algorithms.problem import Problem


@dataclass(frozen=True)
class Algorithm:
    name: str
    function: Callable[[Problem], None]

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    def __call__(self, problem: Problem) -> None:
        self.function(problem)


def algorithm(function: Callable[[Problem], None]) -> Algorithm:
    """Register a function as a search algorithm under its own name."""
    return Algorithm(function.__name__.replace("_", "-"), function)
