"""`firstlight.train`: one network, trained in earnest, on as many processes as torchrun starts, and resumable."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.core.errors import MissingExtraError, SettingError
from firstlight.data import Dataset, load_dataset
from firstlight.evaluation.service import EvaluationSetting
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.in_space import in_space
from firstlight.storage.outcome import Epoch
from firstlight.storage.store import make_folder
from firstlight.training import loop as training
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.distributed import Ranks, joined
from firstlight.training.fitting import build_for_training, fit_recipe, without_auxiliary_head
from firstlight.training.loop import WatchSteps
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import QUICK, RecipeRequest
from firstlight.training.trained import CHECKPOINT_NAME, Trained, find_trained

WatchEpochs = Callable[[int, int, Epoch], None]


def train(
    space: str | Space[Any],
    architecture: str | Architecture,
    data: str,
    *,
    recipe: str | TrainingRecipe = QUICK,
    epochs: int | None = None,
    data_samples: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    tensorboard: bool = False,
    watch: WatchEpochs = lambda done, total, epoch: None,
    watch_steps: WatchSteps = lambda position: None,
) -> Trained:
    """Train one network and say what it reaches on samples that played no part in it.

    `data` is `digits`, `npz:PATH`, `folder:PATH` or a name in $FIRSTLIGHT_DATA. `recipe` is a named one, such as
    "darts-cifar:epochs=10", or one put together in Python. With `out`, the folder keeps a checkpoint after each epoch
    and at last the weights: the same call goes on where it was cut off, and ends with the same weights. `watch` is told
    how many of how many epochs are done and what the last one came to, `watch_steps` of every step.

    >>> found = firstlight.train("nasbench201", "|skip_connect~0|+...", "digits", recipe="quick", out="runs/digits")
    >>> found.test_accuracy, found.model
    """
    request = RecipeRequest.parse(recipe) if isinstance(recipe, str) else RecipeRequest.of(recipe)
    if epochs is not None:
        request = request.with_epochs(epochs)
    with joined(device) as (ranks, own_device):
        setting = _Setting(
            **in_space(space),
            source_name=data,
            recipe=request.recipe,
            seed=seed,
            skeleton_settings=tuple(sorted((skeleton or {}).items())),
            samples=data_samples,
            device=own_device,
        )
        parsed = setting.space.read(architecture) if isinstance(architecture, str) else architecture
        if getattr(setting.skeleton, "auxiliary", 0):
            raise SettingError(
                "The skeleton asks for an auxiliary head, which is for the recipe to do: it says what the head weighs. "
                "Leave auxiliary out of the skeleton, and write :auxiliary_weight=0.4 behind the recipe."
            )
        fitted, notes = fit_recipe(request, setting.space, parsed, setting.skeleton)
        _check(request, setting.dataset, ranks)
        job = _Job(setting, parsed, fitted, tuple(notes), ranks, None if out is None else Path(out))
        return job.known() or job.run(watch, watch_steps, tensorboard)


@dataclass(frozen=True)
class _Setting(EvaluationSetting):
    """As for a quick evaluation, but with samples held out for a test."""

    @functools.cached_property
    def dataset(self) -> Dataset:
        share = self.recipe.validation
        return load_dataset(self.source_name, seed=self.seed, samples=self.samples, validation=share, test=True)


@dataclass(frozen=True)
class _Job:
    setting: _Setting
    architecture: Architecture
    recipe: TrainingRecipe
    notes: tuple[str, ...]
    ranks: Ranks
    directory: Path | None

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what comes out."""
        several = {} if self.ranks.count == 1 else {"processes": self.ranks.count}
        return {
            "space": self.setting.space_key,
            "architecture": str(self.architecture),
            "skeleton": str(self.setting.skeleton),
            "data": self.setting.dataset.fingerprint,
            "recipe": str(self.recipe),
            "seed": self.setting.seed,
            "revision": training.REVISION,
            **several,
        }

    def known(self) -> Trained | None:
        """What the folder already has, if the training was ended before."""
        if self.directory is None:
            return None
        setting = self.setting
        network = setting.space.build(self.architecture, setting.skeleton, device=setting.device)
        return find_trained(self.directory, self.settings, network)

    def run(self, watch: WatchEpochs, watch_steps: WatchSteps, tensorboard: bool) -> Trained:
        setting, data, recipe = self.setting, self.setting.dataset, self.recipe
        network = build_for_training(
            setting.space, self.architecture, setting.skeleton, recipe, seed=setting.seed, device=setting.device
        )
        if self.directory is not None:
            make_folder(self.directory)  # before there is anything to lose
        checkpoint = None if self.directory is None else Checkpoint(self.directory / CHECKPOINT_NAME, self.settings)
        known = 0 if checkpoint is None else len(checkpoint.epochs())
        numbers = itertools.count(known + 1)
        with _log(self.directory, tensorboard and self.ranks.is_first, known) as log:

            def saw(epoch: Epoch) -> None:
                number = next(numbers)
                log(number, epoch)
                watch(number, recipe.epochs, epoch)

            result = training.train(
                network,
                data,
                recipe,
                seed=setting.seed,
                device=setting.device,
                checkpoint=checkpoint,
                ranks=self.ranks,
                watch=saw,
                watch_steps=watch_steps,
            )
        plain = without_auxiliary_head(network, setting.space, self.architecture, setting.skeleton)
        plain.to(setting.device)
        assert data.x_test is not None
        assert data.y_test is not None
        accuracy = None
        if result.ok:
            _, accuracy = training.judge(plain, data.x_test, data.y_test, recipe.batch_size, self.ranks)
        samples = {"training": len(data.y_train), "validation": len(data.y_val), "test": len(data.y_test)}
        inputs = data.preparation
        found = Trained(self.settings, result, accuracy, samples, self.notes, inputs, plain, self.directory, known)
        if self.directory is not None and self.ranks.is_first:
            found.write(self.directory)
        return found


def _check(request: RecipeRequest, data: Dataset, ranks: Ranks) -> None:
    """What a recipe cannot know about the data. A batch that holds more than there is holds all."""
    recipe, there, side = request.recipe, len(data.y_train), min(data.input_shape[1:], default=0)
    if recipe.batch_size > there and "batch_size" in request.written:
        raise SettingError(
            f"batch_size is {recipe.batch_size}, and there are {there} samples to learn from. Write a smaller one "
            f"behind the recipe: {_with(request, batch_size=max(2, there // 8))}."
        )
    if recipe.cutout >= side > 0:
        raise SettingError(
            f"cutout is {recipe.cutout}, and images of {side} pixels would be blank. Write a smaller one behind the "
            f"recipe: {_with(request, cutout=side // 2)}."
        )
    smallest = there // recipe.batches(there)
    if smallest // ranks.count < 2:
        raise SettingError(
            f"Batches of {smallest} samples cannot be shared out among {ranks.count} processes: each needs two or more."
        )


def _with(request: RecipeRequest, **changes: Any) -> str:
    return str(replace(request, recipe=replace(request.recipe, **changes)))


@contextmanager
def _log(directory: Path | None, asked: bool, known: int) -> Iterator[Callable[[int, Epoch], None]]:
    """The figures of each epoch for TensorBoard, if they are asked for."""
    if not asked:
        yield lambda number, epoch: None
        return
    if directory is None:
        raise SettingError("TensorBoard reads from a folder. Name one with out (--out).")
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("Logging for TensorBoard (--tensorboard)", "tensorboard") from None
    with SummaryWriter(str(directory / "tensorboard"), purge_step=known + 1) as writer:

        def log(number: int, epoch: Epoch) -> None:
            for name, value in asdict(epoch).items():
                writer.add_scalar(name, value, number)
            writer.flush()

        yield log
