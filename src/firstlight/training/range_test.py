"""A learning rate from a short training in which it grows from step to step (Smith, 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

from firstlight.core.errors import DivergedError
from firstlight.core.seeds import derive, torch_generator
from firstlight.data import Dataset
from firstlight.training.loop import Batch, Loop
from firstlight.training.recipe import TrainingRecipe

STEPS = 40
# Rates that are tried, for each optimizer
RATES = {"sgd": (1e-3, 3.0), "adamw": (1e-5, 0.1), "adagrad": (1e-4, 1.0)}
# Weight of the past in the smoothed loss, and the rise at which the test ends
SMOOTHING, RISE = 0.8, 1.5
# By this share the loss must fall for the test to tell something
FALL = 0.05
# The peak of a schedule is this much below the rate at which the loss is lowest
BELOW = 4.0
ROUND = (1, 2, 5)


def range_test(network: nn.Module, dataset: Dataset, recipe: TrainingRecipe, *, seed: int = 0) -> float:
    """Find a peak learning rate, with the training samples alone.

    The rate grows geometrically over 40 steps. A quarter of the rate at which the smoothed loss was lowest is returned,
    rounded to 1, 2 or 5 times a power of 10.

    Args:
        network: The network, which is trained in place.
        dataset: The data.
        recipe: How to train; its schedule and learning rate are not used.
        seed: Seed of the order of samples and of dropout.

    Returns:
        The learning rate; that of the recipe if the loss hardly fell.
    """
    lowest, highest = RATES[recipe.optimizer]
    loop = Loop(network, recipe, STEPS)
    smoothed, weight, best, found = 0.0, 0.0, math.inf, None
    first = math.inf
    try:
        with torch.random.fork_rng():
            torch.manual_seed(derive(seed, "range test", "dropout"))
            rates = [lowest * (highest / lowest) ** (step / (STEPS - 1)) for step in range(STEPS)]
            for rate, batch in zip(rates, _batches(dataset, recipe, seed), strict=False):
                loop.recipe = _constant(recipe, rate)
                step = next(loop.run([batch]))
                smoothed = SMOOTHING * smoothed + (1 - SMOOTHING) * step.loss
                weight = SMOOTHING * weight + (1 - SMOOTHING)
                loss = smoothed / weight
                first = min(first, loss) if step.number == 1 else first
                if loss < best and step.number > 1:
                    best, found = loss, rate
                if loss > RISE * best:
                    break
    except DivergedError:
        pass
    if found is None or best > (1 - FALL) * first:
        return recipe.learning_rate
    return rounded(found / BELOW)


def rounded(rate: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of 10, on a logarithmic scale.

    >>> rounded(0.3), rounded(0.007)
    (0.2, 0.005)
    """
    power = math.floor(math.log10(rate))
    options = [digit * 10.0**exponent for exponent in (power, power + 1) for digit in ROUND]
    nearest = min(options, key=lambda option: abs(math.log(option / rate)))
    return float(f"{nearest:.0e}")


def _constant(recipe: TrainingRecipe, rate: float) -> TrainingRecipe:
    return replace(recipe, learning_rate=rate, min_learning_rate=0.0, schedule="constant", warm_up_epochs=0)


def _batches(dataset: Dataset, recipe: TrainingRecipe, seed: int) -> Iterator[Batch]:
    """Yield batches without end, each epoch in another order."""
    count, epoch = len(dataset.x_train), 0
    while True:
        order = torch.randperm(count, generator=torch_generator(seed, "range test", str(epoch)))
        for chosen in order.tensor_split(recipe.num_batches(count)):
            yield dataset.x_train[chosen], dataset.y_train[chosen]
        epoch += 1
