"""Gradients along a few steps of training, taken on a copy of the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import cos, pi

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class TrainingSteps:
    """For each batch, before its step: the loss and the gradient of each watched parameter; and the parameters after
    the last step."""

    losses: list[float]
    gradients: list[dict[str, Tensor]]
    weights: dict[str, Tensor]


def take_steps(
    losses: Iterable[Callable[[], Tensor]],
    watched: dict[str, Tensor],
    optimiser: torch.optim.Optimizer,
    *,
    rate: Callable[[int], float] | None = None,
    clip: float | None = None,
) -> TrainingSteps:
    """One forward pass, one backward pass and one step of the optimiser for each loss."""
    values, gradients = [], []
    trained = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for number, loss in enumerate(losses):
        optimiser.zero_grad()
        value = loss()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(trained, clip)
        if rate is not None:
            for group in optimiser.param_groups:
                group["lr"] = rate(number)
        values.append(float(value.detach()))
        gradients.append({name: p.grad.clone() for name, p in watched.items() if p.grad is not None})
        optimiser.step()
    return TrainingSteps(values, gradients, {name: p.detach().clone() for name, p in watched.items()})


def warm_cosine(peak: float, steps: int, warm_up: int, floor: float = 0.0) -> Callable[[int], float]:
    """A learning rate that rises from `floor` along a line over `warm_up` steps, and falls to it by half a cosine until
    `steps`; steps count from 0."""

    def rate(step: int) -> float:
        if step < warm_up:
            return floor + (peak - floor) * step / warm_up
        return floor + (peak - floor) * (1 + cos(pi * (step - warm_up) / max(1, steps - warm_up))) / 2

    return rate
