"""Firstlight predicts how good a neural network will be before it is trained, and finds the best one for a task."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Packages that share their name with a call are imported first, so that the name stands for the call.
import firstlight.export
import firstlight.predict
import firstlight.search  # noqa: F401
from firstlight._version import __version__
from firstlight.api.compare import compare
from firstlight.api.correlate import correlate
from firstlight.api.export import export
from firstlight.api.fit import fit
from firstlight.api.predict import predict
from firstlight.api.rank import rank
from firstlight.api.reproduce import reproduce
from firstlight.api.score import score
from firstlight.api.search import search
from firstlight.api.space import space
from firstlight.api.train import train
from firstlight.api.trust import trust
from firstlight.core.errors import FirstlightError
from firstlight.core.events import Event
from firstlight.options import (
    Baselines,
    Compute,
    Files,
    Inputs,
    Judging,
    Limits,
    Model,
    Network,
    Reporting,
    Retraining,
    Storage,
    Training,
    Truth,
)

if TYPE_CHECKING:
    from firstlight.evaluation.fit.result import Fit
    from firstlight.predict.prediction import Prediction
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

# Where each further public name lives; PyTorch is imported only when one of these is first used.
_HOMES = {
    "ALGORITHMS": "search.algorithms",
    "Architecture": "spaces.base",
    "ChoiceSpace": "spaces.custom",
    "Fit": "evaluation.fit.result",
    "PROXIES": "proxies",
    "Parts": "proxies.base",
    "Prediction": "predict.prediction",
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
    "load_table": "tables.table",
    "proxy": "proxies.base",
    "register": "spaces.finding",
}

__all__ = [
    "ALGORITHMS",
    "Architecture",
    "Baselines",
    "ChoiceSpace",
    "Compute",
    "Event",
    "Files",
    "FirstlightError",
    "Fit",
    "Inputs",
    "Judging",
    "Limits",
    "Model",
    "Network",
    "PROXIES",
    "Parts",
    "Prediction",
    "Probe",
    "Problem",
    "Ranking",
    "Reporting",
    "Retraining",
    "SPACES",
    "Score",
    "SearchInterrupted",
    "SearchResult",
    "Skeleton",
    "Space",
    "Storage",
    "Table",
    "Trained",
    "Training",
    "TrainingRecipe",
    "Truth",
    "__version__",
    "algorithm",
    "choices",
    "compare",
    "correlate",
    "export",
    "fit",
    "load_table",
    "predict",
    "proxy",
    "rank",
    "register",
    "reproduce",
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
