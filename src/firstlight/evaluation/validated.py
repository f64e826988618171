"""Validation accuracies of baselines, where networks are compared before any test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from firstlight.evaluation.baselines import ScaledBaseline, scaled_baselines
from firstlight.evaluation.service import EvaluationService
from firstlight.execution.executor import Executor
from firstlight.options import Limits
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationSetting


@dataclass(frozen=True)
class Validated:
    """A baseline that was trained like the networks of a study.

    Attributes:
        title: What reports call it.
        space: The name of its space.
        architecture: The text of its architecture.
        params: The number of its parameters.
        accuracies: The validation accuracy of each training that came to its end.
    """

    title: str
    space: str
    architecture: str
    params: int
    accuracies: tuple[float, ...]

    def __str__(self) -> str:
        """Say what it reaches: `plain ResNet (5,266 parameters): 61.2% in the mean of 3 trainings`."""
        size = f"{self.title} ({self.params:,} parameters)"
        if not self.accuracies:
            return f"{size}: no training came to its end"
        times = len(self.accuracies)
        mean = f" in the mean of {times} trainings" if times > 1 else ""
        return f"{size}: {fmean(self.accuracies):.1%}{mean}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts."""
        return {
            "title": self.title,
            "space": self.space,
            "architecture": self.architecture,
            "params": self.params,
            "validation_accuracies": list(self.accuracies),
        }


def validate_beside(
    networks: Iterable[str],
    setting: EvaluationSetting,
    baselines: Sequence[Any],
    seeds: int,
    executor: Executor,
    store: Store,
) -> tuple[Validated, ...]:
    """Train baselines that are as large as the largest of some networks. What the store knows is not trained again.

    Args:
        networks: The texts of the networks.
        setting: How they were trained, which is how the baselines are trained.
        baselines: The baselines, as `scaled_baselines` takes them.
        seeds: The number of seeds to train each baseline with, counted from that of the setting.
        executor: Where to train.
        store: Where results are kept.
    """
    costs = (setting.space.cost(setting.space.parse(text), setting.skeleton) for text in networks)
    limits = Limits(max_params=max(cost.params for cost in costs))
    numbers = range(setting.seed, setting.seed + seeds)
    return tuple(
        _validated(baseline, numbers, executor, store) for baseline in scaled_baselines(baselines, setting, limits)
    )


def _validated(baseline: ScaledBaseline, seeds: Sequence[int], executor: Executor, store: Store) -> Validated:
    setting, architecture = baseline.setting, baseline.architecture
    accuracies = [
        evaluation.result.accuracy
        for seed in seeds
        for evaluation in EvaluationService(replace(setting, seed=seed), executor, store).evaluations([architecture])
    ]
    known = tuple(accuracy for accuracy in accuracies if accuracy is not None)
    params = setting.space.cost(setting.space.parse(architecture), setting.skeleton).params
    return Validated(baseline.title, setting.space_name, architecture, params, known)
