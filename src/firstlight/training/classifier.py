"""Training of classifiers from scratch: epochs over a data set, with validation and a checkpoint after each."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from firstlight.core.errors import DivergedError, SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import derive, torch_generator
from firstlight.data import Dataset
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.training.augmentation import augmented, mixed_up
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.distributed import ALONE, Ranks
from firstlight.training.fitting import has_drop_path
from firstlight.training.loop import Batch, Loop
from firstlight.training.recipe import TrainingRecipe

# Raise it when the same recipe leads to other numbers than before, so that stored results are not reused
REVISION = 1


def train_classifier(
    model: nn.Module,
    dataset: Dataset,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Checkpoint | None = None,
    ranks: Ranks = ALONE,
    callback: Callback = ignore,
) -> TrainingResult:
    """Train a model in place and validate it after each epoch.

    All random numbers depend on the seed alone, and the global random state is left as it was.

    Args:
        model: The model, which is changed and left in eval mode.
        dataset: The training and validation sets.
        recipe: How to train.
        seed: Seed of the order of samples, augmentation and dropout.
        device: Where to train; by default where the model is.
        checkpoint: Written after each epoch but the last. If the file is there already, the training resumes after its
            epochs and ends with the same weights.
        ranks: The processes that train the model together.
        callback: Called after each step with the number of steps done, and after each epoch with the `Epoch` as item.
            The note is "epoch 2/10".

    Returns:
        The epochs, and whether the training came to its end.

    Raises:
        SettingError: If the recipe asks for something that the model does not have.
    """
    start = time.perf_counter()
    training = _Training(model.to(device), dataset, recipe, seed, ranks, callback)
    epochs = [] if checkpoint is None else checkpoint.load(model, training.loop.optimizer, training.average)
    start -= sum(epoch.seconds for epoch in epochs)
    try:
        with torch.random.fork_rng():
            for number in range(len(epochs), recipe.epochs):
                epochs.append(training.epoch(number))
                if checkpoint is not None and ranks.is_first and number + 1 < recipe.epochs:
                    checkpoint.save(model, training.loop.optimizer, epochs, training.average)
                training.report(number, epochs[-1])
    except DivergedError as error:
        return TrainingResult(tuple(epochs), "diverged", str(error), time.perf_counter() - start)
    finally:
        model.eval()
        training.set_drop_path(0.0)
    if training.average is not None:
        model.load_state_dict(training.average.module.state_dict())
    return TrainingResult(tuple(epochs), seconds=time.perf_counter() - start)


@torch.no_grad()
def evaluate_classifier(
    model: nn.Module, x: Tensor, y: Tensor, batch_size: int, ranks: Ranks = ALONE
) -> tuple[float, float]:
    """Return loss and accuracy on samples. The model is left in eval mode."""
    model.eval()
    device = next(model.parameters()).device
    loss, correct = 0.0, 0
    parts = (ranks.slice(part).split(batch_size) for part in (x, y))
    for inputs, labels in zip(*parts, strict=True):
        logits, labels = model(inputs.to(device)), labels.to(device)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += int((logits.argmax(1) == labels).sum())
    loss, right = ranks.sums(device, loss, correct)
    return loss / len(y), right / len(y)


@torch.no_grad()
def right_answers(model: nn.Module, x: Tensor, y: Tensor, batch_size: int) -> Tensor:
    """Return for each sample whether it is classified correctly, shape (samples,). The model is left in eval mode."""
    model.eval()
    device = next(model.parameters()).device
    parts = zip(x.split(batch_size), y.split(batch_size), strict=True)
    return torch.cat([(model(inputs.to(device)).argmax(1).cpu() == labels) for inputs, labels in parts])


def _moving_average(model: nn.Module, decay: float) -> AveragedModel:
    """Return a copy whose weights follow those of the model, and whose buffers do as well."""
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)


class _Training:
    """The loop and what surrounds it. All but the loop's weights and optimizer follows from the number of the epoch."""

    def __init__(
        self,
        model: nn.Module,
        dataset: Dataset,
        recipe: TrainingRecipe,
        seed: int,
        ranks: Ranks,
        callback: Callback,
    ) -> None:
        if recipe.drop_path and not has_drop_path(model):
            raise SettingError(f"drop_path is {recipe.drop_path}, but the network has no edges that can be dropped.")
        self.model, self.dataset, self.recipe, self.seed = model, dataset, recipe, seed
        self.ranks, self.callback = ranks, callback
        self.batches_per_epoch = recipe.num_batches(len(dataset.x_train))
        self.loop = Loop(model, recipe, recipe.epochs * self.batches_per_epoch, ranks=ranks)
        self.average = _moving_average(model, recipe.average) if recipe.average else None

    def set_drop_path(self, probability: float) -> None:
        if self.recipe.drop_path:
            self.model.drop_path = probability  # type: ignore[assignment] # not part of the state

    def epoch(self, number: int) -> Epoch:
        start = time.perf_counter()
        torch.manual_seed(derive(self.seed, "dropout", str(number), *self.ranks.purpose))
        self.set_drop_path(self.recipe.drop_path_at(number))
        self.loop.done = number * self.batches_per_epoch  # which is not 0 in the first epoch after a checkpoint
        loss_sum, correct = 0.0, 0.0
        for step in self.loop.run(self._batches(number)):
            loss_sum += step.loss_sum
            correct += step.correct
            if self.average is not None:
                self.average.update_parameters(self.model)
            self.report(number)
        judged = self.model
        self.ranks.average(judged.buffers())
        if self.average is not None:
            judged = self.average.module
            self.ranks.average(judged.buffers())
        data, count = self.dataset, len(self.dataset.x_train)
        loss, accuracy = evaluate_classifier(judged, data.x_val, data.y_val, self.recipe.batch_size, self.ranks)
        if not math.isfinite(loss):
            raise DivergedError(f"The validation loss was {loss} after epoch {number + 1}.")
        return Epoch(loss_sum / count, correct / count, loss, accuracy, time.perf_counter() - start)

    def report(self, number: int, epoch: Epoch | None = None) -> None:
        note = f"epoch {number + 1}/{self.recipe.epochs}"
        self.callback(Event("training", self.loop.done, self.loop.steps, epoch, note))

    def _batches(self, number: int) -> Iterator[Batch]:
        data = self.dataset
        order = torch.randperm(len(data.x_train), generator=torch_generator(self.seed, "order", str(number)))
        changes = torch_generator(self.seed, "augmentation", str(number))
        mixing = np.random.default_rng(derive(self.seed, "mix-up", str(number)))
        for chosen in order.tensor_split(self.batches_per_epoch):
            # whole batches are augmented, so that every process draws the same random numbers
            x, y = augmented(data.x_train[chosen], self.recipe, changes), data.y_train[chosen]
            yield mixed_up(x, y, data.classes, self.recipe.mix_up, mixing) if self.recipe.mix_up else (x, y)
