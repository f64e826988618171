"""Training of one network to be used: on as many processes as torchrun starts, and resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.core.errors import MissingExtraError, SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.data import Dataset
from firstlight.spaces.base import Architecture
from firstlight.storage.outcome import Epoch
from firstlight.storage.store import make_folder
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.classifier import REVISION, evaluate_classifier, right_answers, train_classifier
from firstlight.training.distributed import Ranks, joined
from firstlight.training.fitting import build_for_training, channels_last, fit_recipe, without_auxiliary_head
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest
from firstlight.training.threads import using_threads, usual_threads
from firstlight.training.trained import CHECKPOINT_NAME, Trained, find_trained


def train_network(
    setting: EvaluationSetting,
    architecture: str | Architecture,
    request: RecipeRequest,
    *,
    folder: Path | None = None,
    tensorboard: bool = False,
    threads: int | None = None,
    callback: Callback = ignore,
) -> Trained:
    """Train one network and test it.

    Args:
        setting: Space, data, seed and device. It holds out a test set (`tests_later`).
        architecture: The architecture, or its text.
        request: How to train; `setting.recipe` is its recipe.
        folder: Where checkpoint, weights and result are kept. A training that was interrupted is resumed.
        tensorboard: Log each epoch for TensorBoard as well.
        threads: The number of threads of the processor. Default: see `usual_threads`.
        callback: Called with an event after each step and each epoch; see `train_classifier`.

    Returns:
        The result, the test accuracy and the trained network.

    Raises:
        SettingError: If a setting does not fit the network or the data.
        StoreError: If the folder holds another training.
    """
    with joined(setting.device) as (ranks, device):
        setting = replace(setting, device=device)
        parsed = setting.space.read(architecture) if isinstance(architecture, str) else architecture
        if getattr(setting.skeleton, "auxiliary", 0):
            raise SettingError(
                "The skeleton asks for an auxiliary head. Leave auxiliary out of the skeleton, and set its weight in "
                "the recipe instead, such as :auxiliary_weight=0.4."
            )
        fitted, notes = fit_recipe(request, setting.space, parsed, setting.skeleton)
        _check(request, setting.dataset, ranks)
        job = _Job(setting, parsed, fitted, tuple(notes), ranks, folder)
        if threads is None:
            threads = usual_threads(setting.space.cost(parsed, setting.skeleton).macs, fitted.batch_size // ranks.count)
        with using_threads(threads):
            return job.known() or job.run(callback, tensorboard)


@dataclass(frozen=True)
class _Job:
    setting: EvaluationSetting
    architecture: Architecture
    recipe: TrainingRecipe
    notes: tuple[str, ...]
    ranks: Ranks
    folder: Path | None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the outcome."""
        several = {} if self.ranks.count == 1 else {"processes": self.ranks.count}
        return {
            "space": self.setting.space_key,
            "architecture": str(self.architecture),
            "skeleton": str(self.setting.skeleton),
            "data": self.setting.dataset.fingerprint,
            "recipe": str(self.recipe),
            "seed": self.setting.seed,
            "revision": REVISION,
            **several,
        }

    def known(self) -> Trained | None:
        """Return the result in the folder, if the training was completed before."""
        if self.folder is None:
            return None
        setting = self.setting
        network = setting.space.build(self.architecture, setting.skeleton, device=setting.device)
        return find_trained(self.folder, self.settings, network)

    def run(self, callback: Callback, tensorboard: bool) -> Trained:
        setting, data, recipe = self.setting, self.setting.dataset, self.recipe
        network = build_for_training(
            setting.space, self.architecture, setting.skeleton, recipe, seed=setting.seed, device=setting.device
        )
        if self.folder is not None:
            make_folder(self.folder)  # before there is anything to lose
        checkpoint = None if self.folder is None else Checkpoint(self.folder / CHECKPOINT_NAME, self.settings)
        known = 0 if checkpoint is None else len(checkpoint.epochs())
        with (
            _log(self.folder, tensorboard and self.ranks.is_first, known) as log,
            channels_last(network, setting.space),
        ):

            def logged(event: Event) -> None:
                if isinstance(event.item, Epoch):
                    log(event.item)
                callback(event)

            result = train_classifier(
                network,
                data,
                recipe,
                seed=setting.seed,
                device=setting.device,
                checkpoint=checkpoint,
                ranks=self.ranks,
                callback=logged,
            )
        plain = without_auxiliary_head(network, setting.space, self.architecture, setting.skeleton)
        plain.to(setting.device)
        assert data.x_test is not None
        assert data.y_test is not None
        accuracy, right = None, None
        if result.ok and self.ranks.count == 1:
            right = tuple(right_answers(plain, data.x_test, data.y_test, recipe.batch_size).tolist())
            accuracy = sum(right) / len(right)
        elif result.ok:
            _, accuracy = evaluate_classifier(plain, data.x_test, data.y_test, recipe.batch_size, self.ranks)
        samples = {"training": len(data.y_train), "validation": len(data.y_val), "test": len(data.y_test)}
        found = Trained(
            self.settings, result, accuracy, samples, self.notes, data.preparation, plain, self.folder, known, right
        )
        if self.folder is not None and self.ranks.is_first:
            found.write(self.folder)
        return found


def _check(request: RecipeRequest, data: Dataset, ranks: Ranks) -> None:
    """Check the recipe against the data. A batch of the named recipe that is larger than the data holds all of it."""
    recipe, there, side = request.recipe, len(data.y_train), min(data.input_shape[1:], default=0)
    if recipe.batch_size > there and "batch_size" in request.written:
        raise SettingError(
            f"batch_size is {recipe.batch_size}, but there are only {there} training samples. Choose a smaller one, "
            f"such as {request.changed(batch_size=max(2, there // 8))}."
        )
    if recipe.cutout >= side > 0:
        raise SettingError(
            f"cutout is {recipe.cutout}, so images of {side} pixels would be blank. Choose a smaller one, such as "
            f"{request.changed(cutout=side // 2)}."
        )
    smallest = there // recipe.num_batches(there)
    if smallest // ranks.count < 2:
        raise SettingError(
            f"Batches of {smallest} samples are too small for {ranks.count} processes: each needs at least 2 samples. "
            "Choose a larger batch_size, or start fewer processes."
        )


@contextmanager
def _log(folder: Path | None, wanted: bool, known: int) -> Iterator[Callable[[Epoch], None]]:
    """Log epochs for TensorBoard, if wanted, after those that are known."""
    if not wanted:
        yield lambda epoch: None
        return
    if folder is None:
        raise SettingError("TensorBoard reads its logs from a folder. Name one with out (--out).")
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("Logging for TensorBoard (--tensorboard)", "tensorboard") from None
    number = known
    with SummaryWriter(str(folder / "tensorboard"), purge_step=known + 1) as writer:

        def log(epoch: Epoch) -> None:
            nonlocal number
            number += 1
            for name, value in asdict(epoch).items():
                writer.add_scalar(name, value, number)
            writer.flush()

        yield log
