"""Search algorithms, each a plain function of a `Problem`. `ALGORITHMS` knows the module of each one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.core.registry import Kind, Registry

if TYPE_CHECKING:
    from firstlight.search.algorithm import Algorithm

# Importing this package imports no algorithm, and no PyTorch.
_NAMES = {
    "bohb": "bohb",
    "evolution": "autoformer-evolution evolution evolution-budget",
    "hnas": "hnas",
    "nasi": "nasi nasi-ridge",
    "pareto": "pareto",
    "predictor": "predictor",
    "prune": "prune",
    "random": "random",
    "reinforce": "reinforce",
    "robot": "robot",
    "verify": "portfolio verify",
    "zero_cost_pt": "zero-cost-pt",
}


def _read_algorithm(entry: object) -> Algorithm | None:
    from firstlight.search.algorithm import Algorithm

    return entry if isinstance(entry, Algorithm) else None


ALGORITHMS: Registry[Algorithm] = Registry(
    Kind(
        "search algorithm",
        _read_algorithm,
        "firstlight.algorithms",
        "Decorate your own function with @firstlight.algorithm, and pass the object or its "
        f"module:name; or name one of {', '.join(sorted(' '.join(_NAMES.values()).split()))}.",
    ),
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
)
"""All search algorithms by name: the built-in ones, those of installed packages, and those added in this process.

>>> firstlight.ALGORITHMS["random"].reference
''
"""

__all__ = ["ALGORITHMS"]
