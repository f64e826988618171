"""Training as plain as it gets: SGD, a cosine schedule, one look at the validation part after each epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.core.seeds import derive, torch_generator
from firstlight.data import Dataset
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.training.augmentation import augmented
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.distributed import ALONE, Ranks
from firstlight.training.fitting import has_drop_path
from firstlight.training.recipe import TrainingRecipe

# Raise it when the same recipe leads to other numbers than before, so that stored results are not reused
REVISION = 1


class Position(NamedTuple):
    """Which step of which epoch was done, both counted from 1, and how many there are."""

    epoch: int
    epochs: int
    step: int
    steps: int


WatchSteps = Callable[[Position], None]


def train(
    model: nn.Module,
    dataset: Dataset,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Checkpoint | None = None,
    ranks: Ranks = ALONE,
    watch: Callable[[Epoch], None] = lambda epoch: None,
    watch_steps: WatchSteps = lambda position: None,
) -> TrainingResult:
    """Train the model where it is (or on `device`) and say how it went. The model is changed and left in eval mode.

    A loss that is no number any more ends the training at once. What is drawn depends on the seed alone, and the random
    numbers of everyone else stay as they are. A `checkpoint` is written after each epoch but the last; if there is one
    already, the training goes on behind it and ends with the same weights. `watch_steps` is told of every step.
    """
    start = time.perf_counter()
    training = _Training(model.to(device), dataset, recipe, seed, ranks, watch_steps)
    epochs = [] if checkpoint is None else checkpoint.load(model, training.optimiser)
    start -= sum(epoch.seconds for epoch in epochs)
    try:
        with torch.random.fork_rng():
            for number in range(len(epochs), recipe.epochs):
                epochs.append(training.epoch(number))
                if checkpoint is not None and ranks.is_first and number + 1 < recipe.epochs:
                    checkpoint.save(model, training.optimiser, epochs)
                watch(epochs[-1])
    except _DivergedError as error:
        return TrainingResult(tuple(epochs), "diverged", str(error), time.perf_counter() - start)
    finally:
        model.eval()
        training.drop(0.0)
    return TrainingResult(tuple(epochs), seconds=time.perf_counter() - start)


@torch.no_grad()
def judge(model: nn.Module, x: Tensor, y: Tensor, batch_size: int, ranks: Ranks = ALONE) -> tuple[float, float]:
    """Loss and accuracy on these samples. The model is left in eval mode."""
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


class _DivergedError(Exception):
    """The loss is no number any more."""


class _Training:
    """Model and optimiser. All else follows from the number of the epoch, so that these two say where a training is."""

    def __init__(
        self,
        model: nn.Module,
        dataset: Dataset,
        recipe: TrainingRecipe,
        seed: int,
        ranks: Ranks,
        watch_steps: WatchSteps,
    ) -> None:
        self.model, self.dataset, self.recipe, self.seed = model, dataset, recipe, seed
        self.ranks, self.watch_steps = ranks, watch_steps
        if recipe.drop_path and not has_drop_path(model):
            raise SettingError(f"drop_path is {recipe.drop_path}, but the network has no edges that can be dropped.")
        self.optimiser = torch.optim.SGD(
            model.parameters(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )
        self.parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        self.device = self.parameters[0].device
        self.parallel = ranks.parallel(model)

    def drop(self, chance: float) -> None:
        if self.recipe.drop_path:
            self.model.drop_path = chance  # type: ignore[assignment] # a number, which is no part of the state

    def epoch(self, number: int) -> Epoch:
        start = time.perf_counter()
        torch.manual_seed(derive(self.seed, "dropout", str(number), *self.ranks.purpose))
        self.drop(self.recipe.drop_path_at(number))
        train_loss, train_accuracy = self._learn(number)
        self.ranks.average(self.model.buffers())
        data = self.dataset
        val_loss, val_accuracy = judge(self.model, data.x_val, data.y_val, self.recipe.batch_size, self.ranks)
        if not math.isfinite(val_loss):
            raise _DivergedError(f"The validation loss was {val_loss} after epoch {number + 1}.")
        return Epoch(train_loss, train_accuracy, val_loss, val_accuracy, time.perf_counter() - start)

    def _learn(self, number: int) -> tuple[float, float]:
        count = len(self.dataset.x_train)
        order = torch.randperm(count, generator=torch_generator(self.seed, "order", str(number)))
        batches = order.tensor_split(self.recipe.batches(count))
        changes = torch_generator(self.seed, "augmentation", str(number))
        self.model.train()
        loss_sum, correct = 0.0, 0.0
        for done, batch in enumerate(batches):
            step = number * len(batches) + done
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.learning_rate_at(step, self.recipe.epochs * len(batches))
            # changed as a whole, so that every process draws the same
            x = self.ranks.slice(augmented(self.dataset.x_train[batch], self.recipe, changes)).to(self.device)
            y = self.ranks.slice(self.dataset.y_train[batch]).to(self.device)
            loss, right = self._step(x, y, len(batch))
            if not math.isfinite(loss):
                raise _DivergedError(f"The loss was {loss} at step {step + 1}, in epoch {number + 1}.")
            loss_sum += loss
            correct += right
            self.watch_steps(Position(number + 1, self.recipe.epochs, done + 1, len(batches)))
        return loss_sum / count, correct / count

    def _step(self, x: Tensor, y: Tensor, batch: int) -> tuple[float, float]:
        """Learn from a batch, of which x and y are the slice of this process. The sum of its losses, and of hits."""
        outputs = self.parallel(x)
        logits, auxiliary = outputs if isinstance(outputs, tuple) else (outputs, None)
        loss = self._loss(logits, y)
        objective = loss
        if self.recipe.auxiliary_weight:
            if auxiliary is None:
                raise SettingError(
                    f"auxiliary_weight is {self.recipe.auxiliary_weight}, but the network has no auxiliary head."
                )
            objective = loss + self.recipe.auxiliary_weight * self._loss(auxiliary, y)
        if self.ranks.count > 1:  # slices may differ by one sample, and gradients are averaged as if they did not
            objective = objective * (len(y) * self.ranks.count / batch)
        self.optimiser.zero_grad()
        objective.backward()
        if self.recipe.clip_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip_norm)
        self.optimiser.step()
        hits = int((logits.argmax(1) == y).sum())
        loss_sum, right = self.ranks.sums(self.device, loss.item() * len(y), hits)
        return loss_sum, right

    def _loss(self, logits: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(logits, y, label_smoothing=self.recipe.label_smoothing)
