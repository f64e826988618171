"""Training of weight-sharing networks: one pass over the data, each step through a path that a policy draws."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import DataError, DivergedError, SettingError
from firstlight.core.seeds import python_generator
from firstlight.probe.observe import device_of
from firstlight.probe.steps import warm_cosine
from firstlight.spaces.supernets.shared import PathPolicy, Shared

# How many steps are done, of how many, and the loss of the last
Watch = Callable[[int, int, float], None]


@dataclass(frozen=True)
class SharedRecipe:
    """How a weight-sharing network is trained.

    With the schedule `warm-cosine`, the rate rises from `lowest_rate` over the first tenth of the steps, and falls back
    to it by half a cosine. Gradients are clipped at norm `clip_norm`. There is no weight decay.
    """

    optimiser: Literal["adagrad", "sgd"]
    learning_rate: float
    batch_size: int
    schedule: Literal["warm-cosine", "constant"]
    momentum: float = 0.0
    eps: float = 1e-2  # of Adagrad
    lowest_rate: float = 1e-8
    clip_norm: float = 5.0

    def __post_init__(self) -> None:
        if self.batch_size < 1 or not all(value > 0 for value in (self.learning_rate, self.eps, self.clip_norm)):
            raise SettingError(
                f"batch_size is {self.batch_size}, learning_rate {self.learning_rate}, eps {self.eps}, clip_norm "
                f"{self.clip_norm}; all of them must be above 0."
            )
        if not 0 <= self.momentum < 1 or not 0 <= self.lowest_rate <= self.learning_rate:
            raise SettingError(
                f"momentum is {self.momentum}, which must be 0 or more and less than 1; lowest_rate is "
                f"{self.lowest_rate}, which must be from 0 to the learning_rate, {self.learning_rate}."
            )

    def settings(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def make_optimiser(self, network: nn.Module) -> torch.optim.Optimizer:
        if self.optimiser == "adagrad":
            return torch.optim.Adagrad(network.parameters(), lr=self.learning_rate, eps=self.eps)
        return torch.optim.SGD(network.parameters(), lr=self.learning_rate, momentum=self.momentum)

    def rate(self, steps: int) -> Callable[[int], float]:
        """The learning rate of each of so many steps, which count from 0."""
        if self.schedule == "constant":
            return lambda step: self.learning_rate
        return warm_cosine(self.learning_rate, steps, max(1, steps // 10), self.lowest_rate)


def recipe_for(shared: Shared | type[Shared]) -> SharedRecipe:
    """Return the recipe by which a space's weight-sharing network is usually trained."""
    return SharedRecipe(**shared.recipe)


def train_steps(
    network: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    steps: int,
    policy: PathPolicy | None,
    recipe: SharedRecipe,
    *,
    seed: int = 0,
    watch: Watch = lambda step, steps, loss: None,
) -> list[float]:
    """Train on so many batches, one step for each; gives the losses before each step. Without a policy, all is trained.

    A batch of another size than the recipe's, as the last may be, is not learnt from. The same network, batches and
    seed lead to the same weights.
    """
    optimiser, rate = recipe.make_optimiser(network), recipe.rate(steps)
    rng = python_generator(seed, "paths", policy.name if policy else "")
    device = device_of(network)
    losses: list[float] = []
    network.train()
    given = 0
    for given, (x, y) in enumerate(batches, start=1):
        if given > steps:
            raise DataError(f"There are more batches than the {steps} that the training was to take.")
        if len(x) == recipe.batch_size:
            if policy is not None:
                policy.take(network, given - 1, rng)
            loss = class_loss(network(x.to(device)), y.to(device))
            losses.append(_learn(loss, network, optimiser, rate(given - 1), recipe.clip_norm, given))
            watch(given, steps, losses[-1])
    if given < steps:
        raise DataError(f"The data ended after {given} batches of {steps}; the training is not complete.")
    if not losses:
        raise DataError(
            f"None of the {steps} batches has {recipe.batch_size} samples, which is what a step takes; give more data, "
            "or a smaller batch_size."
        )
    return losses


def _learn(
    loss: Tensor, network: nn.Module, optimiser: torch.optim.Optimizer, rate: float, clip: float, step: int
) -> float:
    value = float(loss.detach())
    if not math.isfinite(value):
        raise DivergedError(f"the training diverged: the loss was {value} at step {step}")
    optimiser.zero_grad(set_to_none=True)  # what is not on the path stays as it is, whatever its momentum
    loss.backward()
    norm = float(nn.utils.clip_grad_norm_(network.parameters(), clip))
    if not math.isfinite(norm):
        raise DivergedError(f"the training diverged: the gradient was {norm} at step {step}")
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.step()
    return value


def class_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy; for a single logit that of two classes, the first of which has the logit 0."""
    if logits.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits))
    return F.cross_entropy(logits, labels)
