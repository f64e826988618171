"""Firstlight judges neural networks before anyone trains them, and finds the best one in a search space."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firstlight._version import __version__
from firstlight.errors import FirstlightError

if TYPE_CHECKING:
    from firstlight.algorithms import ALGORITHMS, algorithm
    from firstlight.algorithms.result import SearchInterrupted, SearchResult
    from firstlight.api import rank, score, search, space
    from firstlight.evaluate import Table, load_table
    from firstlight.evaluate.calls import compare, correlate, trust
    from firstlight.evaluate.recipe import TrainingRecipe
    from firstlight.evaluate.trained import Trained
    from firstlight.evaluate.trainer import train
    from firstlight.probe import Probe
    from firstlight.proxies import PROXIES, Parts, Score, proxy
    from firstlight.ranking import Ranking
    from firstlight.spaces import SPACES, Architecture, ChoiceSpace, Skeleton, Space, choices, register

# Where each public name lives; PyTorch is imported only when one of these is first used
_HOMES = {
    "ALGORITHMS": "algorithms",
    "Architecture": "spaces",
    "ChoiceSpace": "spaces",
    "PROXIES": "proxies",
    "Parts": "proxies",
    "Probe": "probe",
    "Ranking": "ranking",
    "SPACES": "spaces",
    "Score": "proxies",
    "SearchInterrupted": "algorithms.result",
    "SearchResult": "algorithms.result",
    "Skeleton": "spaces",
    "Space": "spaces",
    "Table": "evaluate",
    "Trained": "evaluate.trained",
    "TrainingRecipe": "evaluate.recipe",
    "algorithm": "algorithms",
    "choices": "spaces",
    "compare": "evaluate.calls",
    "correlate": "evaluate.calls",
    "load_table": "evaluate",
    "proxy": "proxies",
    "rank": "api",
    "register": "spaces",
    "score": "api",
    "search": "api",
    "space": "api",
    "train": "evaluate.trainer",
    "trust": "evaluate.calls",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
