"""From an architecture's text to its accuracy: look it up, else have the network trained, and remember the result."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from firstlight.core.errors import DataError, SettingError, StoreError
from firstlight.data import Dataset, load_dataset
from firstlight.execution.executor import Executor, Lost
from firstlight.scoring.checks import check_device, check_seed, skeleton_for
from firstlight.spaces.base import Skeleton
from firstlight.spaces.in_space import InSpace
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.records import EvaluationKey
from firstlight.storage.store import Store
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.fitting import build_for_training
from firstlight.training.loop import REVISION, train
from firstlight.training.recipe import TrainingRecipe


@dataclass(frozen=True)
class EvaluationSetting(InSpace):
    """What all evaluations of a run have in common. `samples` limits how many of the data set are used."""

    source_name: str = "digits"
    recipe: TrainingRecipe = TrainingRecipe()
    seed: int = 0
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    samples: int | None = None
    device: str | None = None
    tests_later: bool = False  # then what `firstlight train` tests on is left out

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed(self.seed)
        check_device(self.device)

    def __getstate__(self) -> dict[str, Any]:
        """Without the data set: each worker process loads its own, which spares the way through a pipe."""
        super().__getstate__()
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def load(self) -> None:
        self.dataset  # noqa: B018

    @functools.cached_property
    def dataset(self) -> Dataset:
        share = self.recipe.validation
        return load_dataset(
            self.source_name, seed=self.seed, samples=self.samples, test=self.tests_later, validation=share
        )

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        asked, data = dict(self.skeleton_settings), self.dataset
        return skeleton_for(self.space, asked, self.source_name, data.input_shape, data.classes)

    def key(self, architecture: str) -> EvaluationKey:
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
class Evaluation:
    """How well one network did; `reused` if that was known from before."""

    architecture: str
    result: TrainingResult
    reused: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"architecture": self.architecture, **self.result.to_dict()}


@dataclass(frozen=True)
class EvaluationJob:
    """Build and train: the job that executors run. A network that fails costs only its own result.

    With a folder for `checkpoints`, a training that is cut off and asked for again goes on behind its last epoch.
    """

    setting: EvaluationSetting
    fingerprint: str
    checkpoints: Path | None = None

    def __call__(self, architecture: str) -> TrainingResult:
        setting = self.setting
        if setting.dataset.fingerprint != self.fingerprint:
            raise DataError(f"{setting.source_name!r} has changed since the run began; start it again.")
        parsed = setting.space.parse(architecture)
        try:
            network = build_for_training(
                setting.space, parsed, setting.skeleton, setting.recipe, seed=setting.seed, device=setting.device
            )
            checkpoint = self._checkpoint(architecture)
            result = train(
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
        except (SettingError, StoreError):  # which would meet every network
            raise
        except Exception as error:
            return TrainingResult.of_error(error)

    def _checkpoint(self, architecture: str) -> Checkpoint | None:
        if self.checkpoints is None or not self.checkpoints.is_dir():  # as on machines that do not share it
            return None
        key = asdict(self.setting.key(architecture))
        name = hashlib.blake2b(json.dumps(key).encode(), digest_size=12).hexdigest()
        return Checkpoint(self.checkpoints / f"{name}.safetensors", key)


class EvaluationService:
    """Answers from the store what it can, has the rest trained, and commits each result as it arrives."""

    def __init__(self, setting: EvaluationSetting, executor: Executor, store: Store) -> None:
        self.setting = setting
        self.executor = executor
        self.store = store

    def evaluations(self, architectures: Iterable[str]) -> Iterator[Evaluation]:
        """One answer for each different architecture: first those that are known, then the others as they come in."""
        missing = []
        for text in dict.fromkeys(architectures):
            known = self.store.find_evaluation(self.setting.key(text))
            if known is None:
                missing.append(text)
            else:
                yield Evaluation(text, known, reused=True)
        checkpoints = None if self.store.folder is None else self.store.folder / "checkpoints"
        if checkpoints is not None and missing:
            checkpoints.mkdir(exist_ok=True)
        job = EvaluationJob(self.setting, self.setting.dataset.fingerprint, checkpoints)
        for text, result in self.executor.map(job, missing):
            if isinstance(result, Lost):
                result = TrainingResult((), result.status, result.reason)
            self.store.add_evaluation(self.setting.key(text), result)
            yield Evaluation(text, result)
        if checkpoints is not None:
            with contextlib.suppress(OSError):  # it may never have been there, or others still need it
                checkpoints.rmdir()
