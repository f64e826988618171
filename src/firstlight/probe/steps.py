"""Gradients along a few steps of training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import cos, pi

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class TrainingSteps:
    """What was recorded during training.

    Attributes:
        losses: The loss of each batch before its step.
        gradients: The gradients of the watched parameters by name, for each batch.
        weights: The watched parameters after the last step.
    """

    losses: list[float]
    gradients: list[dict[str, Tensor]]
    weights: dict[str, Tensor]


def take_steps(
    losses: Iterable[Callable[[], Tensor]],
    watched: dict[str, Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    rate: Callable[[int], float] | None = None,
    clip: float | None = None,
) -> TrainingSteps:
    """Take a step of the optimizer for each loss, at a cost of one forward and one backward pass."""
    values, gradients = [], []
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, loss in enumerate(losses):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(trained, clip)
        if rate is not None:
            for group in optimizer.param_groups:
                group["lr"] = rate(number)
        values.append(float(value.detach()))
        gradients.append({name: p.grad.clone() for name, p in watched.items() if p.grad is not None})
        optimizer.step()
    return TrainingSteps(values, gradients, {name: p.detach().clone() for name, p in watched.items()})


def warm_cosine(peak: float, steps: int, warm_up: int, floor: float = 0.0) -> Callable[[int], float]:
    """Return a schedule that rises linearly from `floor` over `warm_up` steps, then falls by half a cosine to `floor`.

    Steps count from 0; the last one is `steps`.
    """

    def rate(step: int) -> float:
        if step < warm_up:
            return floor + (peak - floor) * step / warm_up
        return floor + (peak - floor) * (1 + cos(pi * (step - warm_up) / max(1, steps - warm_up))) / 2

    return rate
