"""Search algorithms, each a plain function of a `Problem`. `ALGORITHMS` knows where each one lives."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from firstlight.core.registry import Registry

if TYPE_CHECKING:
    from firstlight.search.algorithm import Algorithm

# Importing this package imports no algorithm, and no PyTorch.
_NAMES = {
    "bohb": "bohb",
    "evolution": "autoformer-evolution evolution evolution-budget",
    "hnas": "hnas",
    "nasi": "nasi nasi-ridge",
    "pareto": "pareto",
    "prune": "prune",
    "random": "random",
    "reinforce": "reinforce",
    "verify": "portfolio verify",
    "zero_cost_pt": "zero-cost-pt",
}


def _is_algorithm(entry: object) -> bool:
    from firstlight.search.algorithm import Algorithm

    return isinstance(entry, Algorithm)


def _algorithms_of(module: ModuleType) -> dict[str, Algorithm]:
    return {entry.name: entry for entry in vars(module).values() if _is_algorithm(entry)}


ALGORITHMS: Registry[Algorithm] = Registry(
    "search algorithm",
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
    _algorithms_of,
    "firstlight.algorithms",
    _is_algorithm,
)

__all__ = ["ALGORITHMS"]
