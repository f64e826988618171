"""Training of weight-sharing networks: each step trains a path that a policy draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torch import nn

from firstlight.core.events import Callback, ignore
from firstlight.core.seeds import python_generator
from firstlight.spaces.supernets.shared import PathPolicy, Shared
from firstlight.training.loop import Batch, learn
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import SHARED


def recipe_for(shared: Shared | type[Shared]) -> TrainingRecipe:
    """Return the recipe by which the weight-sharing network of a space is usually trained."""
    return replace(SHARED, **shared.recipe)


def train_shared(
    network: nn.Module,
    batches: Iterable[Batch],
    steps: int,
    policy: PathPolicy,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    callback: Callback = ignore,
) -> list[float]:
    """Train a weight-sharing network in place.

    The same network, batches and seed lead to the same weights.

    Args:
        network: The network, which is left in train mode.
        batches: Inputs and labels, `steps` of them.
        steps: The number of batches.
        policy: Draws the path of each step.
        recipe: How to train.
        seed: Seed of the paths.
        callback: Called with an event after each step.

    Returns:
        The mean loss of each batch before its step.

    Raises:
        DataError: If there are more or fewer batches than `steps`.
        DivergedError: If the loss or the gradients of a step are not finite.
    """
    rng = python_generator(seed, "paths", policy.name)
    return learn(
        network,
        batches,
        recipe,
        steps,
        before_step=lambda step: policy.take(network, step, rng),
        stage="warm-up",
        callback=callback,
    )
