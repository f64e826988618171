"""Finalists: networks that are trained once for each seed, and tested at the end.

The seed decides the weights, the order of samples, and which samples are for validation. The test samples are always
the same.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.core.errors import FirstlightError
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import RecipeRequest
from firstlight.training.trained import Trained
from firstlight.training.trainer import train_network
from firstlight.training.verdict import NetworkAnswers, Verdict, stacked


@dataclass(frozen=True)
class Finalist:
    """A network to train several times.

    Attributes:
        name: A short name, unique among the finalists.
        title: What reports call it.
        setting: Space, data and skeleton; the recipe is that of the request.
        architecture: The text of the architecture.
        request: How to train.
    """

    name: str
    title: str
    setting: EvaluationSetting
    architecture: str
    request: RecipeRequest

    def with_seed(self, seed: int) -> EvaluationSetting:
        """Return the setting of one training."""
        return replace(self.setting, seed=seed, recipe=self.request.recipe, tests_later=True)


@dataclass(frozen=True)
class FinalResult:
    """A finalist after all of its trainings.

    Attributes:
        finalist: The finalist.
        trainings: One for each seed, in their order.
    """

    finalist: Finalist
    trainings: tuple[Trained, ...]

    @functools.cached_property
    def answers(self) -> NetworkAnswers:
        """The answers of all trainings that came to their end."""
        right = [trained.right for trained in self.trainings if trained.right is not None]
        if not right:
            result = self.trainings[0].result
            raise FirstlightError(f"No training of {self.finalist.title} came to its end: {result.note}")
        return NetworkAnswers(self.finalist.title, stacked(right))

    @property
    def finished(self) -> bool:
        """True if at least one training came to its end."""
        return any(trained.right is not None for trained in self.trainings)

    @property
    def validation(self) -> float | None:
        """The mean validation accuracy after the last epoch."""
        known = [trained.result.accuracy for trained in self.trainings if trained.result.accuracy is not None]
        return sum(known) / len(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """Return the network, its cost and its accuracies."""
        setting = self.finalist.with_seed(0)
        cost = setting.space.cost(setting.space.parse(self.finalist.architecture), setting.skeleton)
        return {
            "name": self.finalist.name,
            "title": self.finalist.title,
            "space": setting.space_name,
            "architecture": self.finalist.architecture,
            "skeleton": str(setting.skeleton),
            "params": cost.params,
            "macs": cost.macs,
            "recipe": str(self.finalist.request.recipe),
            "validation_accuracy": self.validation,
            "test_accuracy": self.answers.accuracy if self.finished else None,
            "test_accuracies": self.answers.accuracies if self.finished else [],
            "seeds": [int(trained.settings["seed"]) for trained in self.trainings],
            "directory": None if (place := self.trainings[0].directory) is None else str(place),
        }


@dataclass(frozen=True)
class FinalJob:
    """Trains a finalist with one seed: the job that executors run.

    Attributes:
        folder: Where each training has a folder of its own; a training that was interrupted is resumed.
    """

    folder: Path | None

    @property
    def files(self) -> list[Path]:
        """The files that every machine must see."""
        return [] if self.folder is None else [self.folder]

    def __call__(self, task: tuple[Finalist, int]) -> Trained:
        finalist, seed = task
        setting = finalist.with_seed(seed)
        folder = None if self.folder is None else self.folder / folder_name(finalist, seed)
        return train_network(setting, finalist.architecture, finalist.request, folder=folder, threads=1)


def folder_name(finalist: Finalist, seed: int) -> str:
    """Return the name of the folder of one training, which is different for everything that decides the result."""
    asked = [finalist.setting.space_name, finalist.architecture, str(finalist.request.recipe), seed]
    asked += [finalist.setting.source_name, str(finalist.setting.samples), finalist.setting.skeleton_settings]
    digest = hashlib.blake2b(json.dumps(asked).encode(), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', finalist.name)}-{digest}-seed{seed}"


@dataclass(frozen=True)
class Compared:
    """A network beside the baselines.

    Attributes:
        found: The network.
        baselines: All baselines, the highest validation accuracy first.
        verdict: How the network compares with the first of them.
    """

    found: FinalResult
    baselines: tuple[FinalResult, ...]
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict with the figures behind it."""
        return {
            "verdict": self.verdict.to_dict(),
            "found": self.found.to_dict(),
            "baselines": [entry.to_dict() for entry in self.baselines],
        }
