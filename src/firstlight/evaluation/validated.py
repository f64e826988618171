"""Validation accuracies of baselines, where networks are compared before any test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from firstlight.evaluation.baselines import ScaledBaseline
from firstlight.evaluation.service import EvaluationService
from firstlight.execution.executor import Executor
from firstlight.storage.store import Store


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


def validate(
    baselines: Sequence[ScaledBaseline], seeds: Sequence[int], executor: Executor, store: Store
) -> tuple[Validated, ...]:
    """Train each baseline with each seed. What the store knows is not trained again.

    Args:
        baselines: The baselines, with the recipe in their settings.
        seeds: The seeds.
        executor: Where to train.
        store: Where results are kept.
    """
    found = []
    for baseline in baselines:
        settings = [replace(baseline.setting, seed=seed) for seed in seeds]
        results = [
            evaluation.result.accuracy
            for setting in settings
            for evaluation in EvaluationService(setting, executor, store).evaluations([baseline.architecture])
        ]
        known = tuple(accuracy for accuracy in results if accuracy is not None)
        setting = baseline.setting
        params = setting.space.cost(setting.space.parse(baseline.architecture), setting.skeleton).params
        found.append(Validated(baseline.title, setting.space_name, baseline.architecture, params, known))
    return tuple(found)
