"""Firstlight judges neural networks before anyone trains them, and finds the best one in a search space."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import firstlight.search  # noqa: F401
from firstlight._version import __version__
from firstlight.core.errors import FirstlightError

if TYPE_CHECKING:
    from firstlight.api import rank, score, search, space
    from firstlight.evaluation.calls import compare, correlate, trust
    from firstlight.probe import Probe
    from firstlight.proxies import PROXIES
    from firstlight.proxies.base import Parts, Score, proxy
    from firstlight.search.algorithm import algorithm
    from firstlight.search.algorithms import ALGORITHMS
    from firstlight.search.problem import Problem
    from firstlight.search.ranking import Ranking
    from firstlight.search.result import SearchInterrupted, SearchResult
    from firstlight.spaces import SPACES
    from firstlight.spaces.base import Architecture, Skeleton, Space
    from firstlight.spaces.custom import ChoiceSpace, choices
    from firstlight.spaces.finding import register
    from firstlight.tables.table import Table, load_table
    from firstlight.training.recipe import TrainingRecipe
    from firstlight.training.trained import Trained
    from firstlight.training.trainer import train

# Where each public name lives; PyTorch is imported only when one of these is first used
_HOMES = {
    "ALGORITHMS": "search.algorithms",
    "Architecture": "spaces.base",
    "ChoiceSpace": "spaces.custom",
    "PROXIES": "proxies",
    "Parts": "proxies.base",
    "Probe": "probe",
    "Problem": "search.problem",
    "Ranking": "search.ranking",
    "SPACES": "spaces",
    "Score": "proxies.base",
    "SearchInterrupted": "search.result",
    "SearchResult": "search.result",
    "Skeleton": "spaces.base",
    "Space": "spaces.base",
    "Table": "tables.table",
    "Trained": "training.trained",
    "TrainingRecipe": "training.recipe",
    "algorithm": "search.algorithm",
    "choices": "spaces.custom",
    "compare": "evaluation.calls",
    "correlate": "evaluation.calls",
    "load_table": "tables.table",
    "proxy": "proxies.base",
    "rank": "api",
    "register": "spaces.finding",
    "score": "api",
    "search": "api",
    "space": "api",
    "train": "training.trainer",
    "trust": "evaluation.calls",
}

__all__ = [
    "ALGORITHMS",
    "PROXIES",
    "SPACES",
    "Architecture",
    "ChoiceSpace",
    "FirstlightError",
    "Parts",
    "Probe",
    "Problem",
    "Ranking",
    "Score",
    "SearchInterrupted",
    "SearchResult",
    "Skeleton",
    "Space",
    "Table",
    "Trained",
    "TrainingRecipe",
    "__version__",
    "algorithm",
    "choices",
    "compare",
    "correlate",
    "load_table",
    "proxy",
    "rank",
    "register",
    "score",
    "search",
    "space",
    "train",
    "trust",
]


# The package shares its name with a call, and the name stands for the call.
globals().pop("search")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
