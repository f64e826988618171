"""Search algorithms, found by looking into this folder: a module's `Algorithm` objects are its entries."""

from firstlight.algorithms.base import Algorithm, AlgorithmRequest, algorithm
from firstlight.algorithms.objective import Candidate, Limits, Objective
from firstlight.algorithms.problem import Problem
from firstlight.registry import Registry

ALGORITHMS: Registry[Algorithm] = Registry(
    "search algorithm",
    __name__,
    lambda module: {entry.name: entry for entry in vars(module).values() if isinstance(entry, Algorithm)},
)

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmRequest", "Candidate", "Limits", "Objective", "Problem", "algorithm"]
