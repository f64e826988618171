"""Training as plain as it gets: SGD, a cosine schedule, one look at the validation part after each epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.data import Dataset
from firstlight.evaluate.augmentation import augmented
from firstlight.evaluate.recipe import TrainingRecipe
from firstlight.run.outcome import Epoch, TrainingResult
from firstlight.seeds import derive, torch_generator

# Raise it when the same recipe leads to other numbers than before, so that stored results are not reused
REVISION = 1


def train(
    model: nn.Module,
    dataset: Dataset,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    watch: Callable[[Epoch], None] = lambda epoch: None,
) -> TrainingResult:
    """Train the model where it is (or on `device`) and say how it went. The model is changed and left in eval mode.

    A loss that is no number any more ends the training at once. What is drawn depends on the seed alone, and the random
    numbers of everyone else stay as they are.
    """
    start = time.perf_counter()
    training = _Training(model.to(device), dataset, recipe, seed)
    epochs: list[Epoch] = []
    try:
        with torch.random.fork_rng():
            for number in range(recipe.epochs):
                epochs.append(training.epoch(number))
                watch(epochs[-1])
    except _DivergedError as error:
        return TrainingResult(tuple(epochs), "diverged", str(error), time.perf_counter() - start)
    finally:
        model.eval()
    return TrainingResult(tuple(epochs), seconds=time.perf_counter() - start)


class _DivergedError(Exception):
    """The loss is no number any more."""


class _Training:
    """Model and optimiser. All else follows from the number of the epoch, so that these two say where a training is."""

    def __init__(self, model: nn.Module, dataset: Dataset, recipe: TrainingRecipe, seed: int) -> None:
        self.model, self.dataset, self.recipe, self.seed = model, dataset, recipe, seed
        self.optimiser = torch.optim.SGD(
            model.parameters(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )
        self.parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        self.device = self.parameters[0].device

    def epoch(self, number: int) -> Epoch:
        start = time.perf_counter()
        torch.manual_seed(derive(self.seed, "dropout", str(number)))
        train_loss, train_accuracy = self._learn(number)
        val_loss, val_accuracy = self._judge()
        if not math.isfinite(val_loss):
            raise _DivergedError(f"The validation loss was {val_loss} after epoch {number + 1}.")
        return Epoch(train_loss, train_accuracy, val_loss, val_accuracy, time.perf_counter() - start)

    def _learn(self, number: int) -> tuple[float, float]:
        count = len(self.dataset.x_train)
        order = torch.randperm(count, generator=torch_generator(self.seed, "order", str(number)))
        batches = order.tensor_split(self.recipe.batches(count))
        changes = torch_generator(self.seed, "augmentation", str(number))
        self.model.train()
        loss_sum, correct = 0.0, 0
        for step, batch in enumerate(batches, start=number * len(batches)):
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.learning_rate_at(step, self.recipe.epochs * len(batches))
            x = augmented(self.dataset.x_train[batch], self.recipe, changes).to(self.device)
            y = self.dataset.y_train[batch].to(self.device)
            loss, right = self._step(x, y)
            if not math.isfinite(loss):
                raise _DivergedError(f"The loss was {loss} at step {step + 1}, in epoch {number + 1}.")
            loss_sum += loss * len(batch)
            correct += right
        return loss_sum / count, correct / count

    def _step(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        logits = self.model(x)
        loss = F.cross_entropy(logits, y, label_smoothing=self.recipe.label_smoothing)
        self.optimiser.zero_grad()
        loss.backward()
        if self.recipe.clip_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip_norm)
        self.optimiser.step()
        return loss.item(), int((logits.argmax(1) == y).sum())

    @torch.no_grad()
    def _judge(self) -> tuple[float, float]:
        self.model.eval()
        loss, correct = 0.0, 0
        parts = (part.split(self.recipe.batch_size) for part in (self.dataset.x_val, self.dataset.y_val))
        for x, y in zip(*parts, strict=True):
            logits, y = self.model(x.to(self.device)), y.to(self.device)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            correct += int((logits.argmax(1) == y).sum())
        return loss / len(self.dataset.y_val), correct / len(self.dataset.y_val)
