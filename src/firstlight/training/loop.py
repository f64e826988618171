"""The training loop: one optimizer step for each batch.

Warm-ups, weight-sharing networks, image classifiers and click predictors are all trained by it. They differ in their
batches, their recipe, and what they do between the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import DataError, DivergedError, SettingError
from firstlight.core.events import Callback, Event, Stage, ignore
from firstlight.training.distributed import ALONE, Ranks
from firstlight.training.recipe import TrainingRecipe

Batch = tuple[Tensor, Tensor]
BeforeStep = Callable[[int], None]


@dataclass(frozen=True)
class Step:
    """One step of a training.

    Args:
        number: Its number, counted from 1 over all epochs.
        loss_sum: The losses of its samples before the step, added up over all processes.
        correct: How many of its samples were classified correctly before the step.
        samples: The number of its samples.
    """

    number: int
    loss_sum: float
    correct: float
    samples: int

    @property
    def loss(self) -> float:
        """The mean loss."""
        return self.loss_sum / self.samples


class Loop:
    """Trains a network in place, step by step.

    Everything but the weights and the state of the optimizer follows from `done`, the number of steps taken so far.

    Args:
        network: The network, on the device that it is trained on.
        recipe: Optimizer, learning rates, loss and bound of the gradients. Batches, epochs and everything that changes
            them are up to the caller.
        steps: The number of steps in all epochs, which the schedule of the learning rate depends on.
        ranks: The processes that train the network together.
    """

    def __init__(self, network: nn.Module, recipe: TrainingRecipe, steps: int, *, ranks: Ranks = ALONE) -> None:
        self.network, self.recipe, self.steps, self.ranks = network, recipe, steps, ranks
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.optimizer = make_optimizer(self.parameters, recipe)
        self.done = 0
        self._parallel = ranks.parallel(network)

    def run(self, batches: Iterable[Batch], before_step: BeforeStep = lambda step: None) -> Iterator[Step]:
        """Take one step for each batch, in train mode.

        Args:
            batches: Inputs and labels. Each process is given all of a batch and takes its slice.
            before_step: Called before each step with its number, counted from 0.

        Yields:
            Each step that was taken.

        Raises:
            DataError: If there are more batches than steps.
            DivergedError: If the loss or the gradients of a step are not finite. The step is not taken.
        """
        self.network.train()
        for x, y in batches:
            if self.done == self.steps:
                raise DataError(f"There are more batches than the {self.steps} steps of the training.")
            before_step(self.done)
            yield self._step(x, y)

    def _step(self, x: Tensor, y: Tensor) -> Step:
        samples = len(y)
        x, y = (self.ranks.slice(part).to(self.device) for part in (x, y))
        outputs = self._parallel(x)
        logits, auxiliary = outputs if isinstance(outputs, tuple) else (outputs, None)
        loss = self._loss(logits, y)
        hits = int((_predicted(logits) == (y.argmax(1) if y.ndim > 1 else y)).sum())
        loss_sum, correct = self.ranks.sums(self.device, loss.item() * len(y), hits)
        self._check("loss", loss_sum / samples)
        objective = self._objective(loss, auxiliary, y)
        if self.ranks.count > 1:  # gradients are averaged as if all slices were of one size, and they may differ by 1
            objective = objective * (len(y) * self.ranks.count / samples)
        self.optimizer.zero_grad()  # to None: what is not on the path of a supernet stays as it is
        objective.backward()
        if self.recipe.clip_norm:
            self._check("norm of the gradient", float(nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip_norm)))
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate_at(self.done, self.steps)
        self.optimizer.step()
        self.done += 1
        return Step(self.done, loss_sum, correct, samples)

    def _objective(self, loss: Tensor, auxiliary: Tensor | None, y: Tensor) -> Tensor:
        if not self.recipe.auxiliary_weight:
            return loss
        if auxiliary is None:
            raise SettingError(
                f"auxiliary_weight is {self.recipe.auxiliary_weight}, but the network has no auxiliary head."
            )
        return loss + self.recipe.auxiliary_weight * self._loss(auxiliary, y)

    def _loss(self, logits: Tensor, y: Tensor) -> Tensor:
        return class_loss(logits, y, self.recipe.label_smoothing)

    def _check(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            epoch = self.done // max(1, self.steps // self.recipe.epochs) + 1
            raise DivergedError(f"The {what} was {value} at step {self.done + 1}, in epoch {epoch}.")


def learn(
    network: nn.Module,
    batches: Iterable[Batch],
    recipe: TrainingRecipe,
    steps: int,
    *,
    before_step: BeforeStep = lambda step: None,
    stage: Stage = "training",
    callback: Callback = ignore,
) -> list[float]:
    """Train a network on the batches of all epochs, one step for each.

    Args:
        network: The network, which is changed and left in train mode.
        batches: Inputs and labels, `steps` of them.
        recipe: How to train.
        steps: The number of batches.
        before_step: Called before each step with its number, counted from 0.
        stage: What the events are called.
        callback: Called with an event after each step.

    Returns:
        The mean loss of each batch before its step.

    Raises:
        DataError: If there are more or fewer batches than `steps`.
        DivergedError: If the loss or the gradients of a step are not finite.
    """
    loop = Loop(network, recipe, steps)
    losses = []
    for step in loop.run(batches, before_step):
        losses.append(step.loss)
        callback(Event(stage, step.number, steps))
    if loop.done < steps:
        raise DataError(f"The data ended after {loop.done} batches of {steps}; the training is not complete.")
    return losses


def make_optimizer(parameters: Iterable[nn.Parameter], recipe: TrainingRecipe) -> torch.optim.Optimizer:
    """Return the optimizer of a recipe, at the highest learning rate."""
    rate, decay = recipe.learning_rate, recipe.weight_decay
    if recipe.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate, eps=recipe.eps, weight_decay=decay)
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
    return torch.optim.SGD(parameters, lr=rate, momentum=recipe.momentum, nesterov=recipe.nesterov, weight_decay=decay)


def class_loss(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Return the mean cross-entropy.

    Args:
        logits: Of shape (samples, classes). A single logit is that of the second of two classes; the first has 0.
        labels: The classes, of shape (samples,); or a distribution over at least two classes for each sample.
        label_smoothing: Share of the label that is spread over all classes.
    """
    if logits.shape[1] == 1:
        targets = labels.to(logits) * (1 - label_smoothing) + label_smoothing / 2
        return F.binary_cross_entropy_with_logits(logits[:, 0], targets)
    return F.cross_entropy(logits, labels, label_smoothing=label_smoothing)


def _predicted(logits: Tensor) -> Tensor:
    return logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(1)
