"""Training of one network of a space: the setting that trainings share, and the job that executors run."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from firstlight.core.errors import DataError, SettingError, StoreError
from firstlight.data import Dataset, load_dataset
from firstlight.spaces.base import Skeleton
from firstlight.spaces.checks import check_device, check_seed, skeleton_for
from firstlight.spaces.in_space import InSpace
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.records import EvaluationKey
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.classifier import REVISION, train_classifier
from firstlight.training.fitting import build_for_training, channels_last
from firstlight.training.recipe import TrainingRecipe


@dataclass(frozen=True)
class EvaluationSetting(InSpace):
    """What all trainings of a run have in common.

    Args:
        source_name: The data.
        recipe: How to train.
        seed: Seed of weights, order of samples, augmentation and dropout.
        skeleton_settings: Settings of the skeleton that differ from what the data ask for.
        samples: Use at most this many samples of the data.
        device: Where to train.
        tests_later: Leave out the test set, as `firstlight train` does until its end.
    """

    source_name: str = "digits"
    recipe: TrainingRecipe = TrainingRecipe()
    seed: int = 0
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    samples: int | None = None
    device: str | None = None
    tests_later: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed(self.seed)
        check_device(self.device)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the data set: each worker process loads its own, which is cheaper than sending it."""
        super().__getstate__()
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def load(self) -> None:
        """Load the data now."""
        self.dataset  # noqa: B018

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The data, split into its parts."""
        share = self.recipe.validation
        return load_dataset(
            self.source_name, seed=self.seed, samples=self.samples, test=self.tests_later, validation=share
        )

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        """The skeleton for the data."""
        asked, data = dict(self.skeleton_settings), self.dataset
        return skeleton_for(self.space, asked, self.source_name, data.input_shape, data.classes)

    def key(self, architecture: str) -> EvaluationKey:
        """Return what the store knows a training by."""
        return EvaluationKey(
            space=self.space_key,
            skeleton=str(self.skeleton),
            architecture=architecture,
            data=self.dataset.fingerprint,
            recipe=str(self.recipe),
            seed=self.seed,
            revision=REVISION,
        )


@dataclass(frozen=True)
class EvaluationJob:
    """Builds and trains a network. If one fails, only its own result is lost.

    Args:
        setting: What all trainings have in common.
        fingerprint: That of the data when the run began.
        checkpoints: A folder for checkpoints: a training that was interrupted resumes after its last epoch.
    """

    setting: EvaluationSetting
    fingerprint: str
    checkpoints: Path | None = None

    def __call__(self, architecture: str) -> TrainingResult:
        setting = self.setting
        if setting.dataset.fingerprint != self.fingerprint:
            raise DataError(f"{setting.source_name!r} has changed since the run started. Start the run again.")
        parsed = setting.space.parse(architecture)
        try:
            network = build_for_training(
                setting.space, parsed, setting.skeleton, setting.recipe, seed=setting.seed, device=setting.device
            )
            checkpoint = self._checkpoint(architecture)
            with channels_last(network, setting.space):
                result = train_classifier(
                    network,
                    setting.dataset,
                    setting.recipe,
                    seed=setting.seed,
                    device=setting.device,
                    checkpoint=checkpoint,
                )
            if checkpoint is not None:
                checkpoint.remove()
            return result
        except (SettingError, StoreError):  # every other network would fail as well
            raise
        except Exception as error:
            return TrainingResult.of_error(error)

    def _checkpoint(self, architecture: str) -> Checkpoint | None:
        if self.checkpoints is None or not self.checkpoints.is_dir():  # other machines may not share the folder
            return None
        key = asdict(self.setting.key(architecture))
        name = hashlib.blake2b(json.dumps(key).encode(), digest_size=12).hexdigest()
        return Checkpoint(self.checkpoints / f"{name}.safetensors", key)
