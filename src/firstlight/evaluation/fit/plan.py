"""How the time of a fit is spent: decided from the speed of a few steps, before any network is chosen."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from firstlight.data import Dataset
from firstlight.training.loop import Loop
from firstlight.training.recipe import TrainingRecipe

# Shares of the time after which each part must have ended; what is left is for the finals
PLAIN, SCREENED, HALVED, REFINED, FINISHED = 0.2, 0.3, 0.6, 0.72, 0.97
SCREENING = 0.08
# The share of the candidates that goes on to the next rung; epochs grow by the inverse
KEPT = 3
# With fewer steps, most networks have not begun to learn; with enough of them, they can be told apart
FEWEST_STEPS, ENOUGH_STEPS = 80, 300
FEWEST_CANDIDATES, MOST_CANDIDATES = 8, 60
# As many are worth a third rung
MANY_CANDIDATES = 24
MOST_RUNGS = 3
MOST_EPOCHS = 80
FEWEST_SEEDS, MOST_SEEDS = 3, 5
FINALISTS = 2
# Small data have small batches, so that an epoch has enough steps
SMALL_DATA, SMALL_BATCH, USUAL_BATCH = 4_000, 32, 128
FEWEST_BATCHES = 4
SAMPLES_TIMED = 3


@dataclass(frozen=True)
class Plan:
    """How many networks are trained, how long, and how often.

    Attributes:
        batch_size: Samples per step.
        candidates: Networks in the first rung, with the baselines.
        rungs: The epochs of each rung.
        refining: The epochs with which recipes are compared.
        seeds: The trainings of each finalist.
        screened: Networks that proxies look at.
    """

    batch_size: int
    candidates: int
    rungs: tuple[int, ...]
    refining: int
    seeds: int
    screened: int

    def __str__(self) -> str:
        """Say what is planned."""
        first, *others = self.rungs
        rungs = "".join(f", the better third for {epochs}" for epochs in others)
        return (
            f"proxies look at {self.screened:,} networks, {self.candidates} are trained for {first} epochs{rungs}, and "
            f"the finalists {self.seeds} times for as long as the time suffices"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON holds them."""
        return asdict(self) | {"rungs": list(self.rungs)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Plan:
        """Read what `to_dict` returned."""
        return cls(**content | {"rungs": tuple(content["rungs"])})


def batch_size_for(samples: int) -> int:
    """Return the samples per step that suit a training set."""
    usual = SMALL_BATCH if samples < SMALL_DATA else USUAL_BATCH
    return max(2, min(usual, samples // FEWEST_BATCHES))


def make_plan(seconds: float, samples: int, per_sample: float, per_score: float, workers: int = 1) -> Plan:
    """Divide the time among the parts.

    Args:
        seconds: The time of the whole fit.
        samples: Samples of the training set.
        per_sample: Seconds to train a typical network on one sample.
        per_score: Seconds to score a network by a proxy.
        workers: Trainings at a time.

    Returns:
        The plan. Even if the time is too short, something is trained.
    """
    epoch = samples * per_sample / workers
    batch = batch_size_for(samples)
    fewest, enough = (math.ceil(steps / math.ceil(samples / batch)) for steps in (FEWEST_STEPS, ENOUGH_STEPS))
    budget = (HALVED - SCREENED + PLAIN) * seconds / epoch  # in epochs, for all rungs
    first = max(fewest, min(enough, int(budget / _cost(FEWEST_CANDIDATES, [1, KEPT]))))
    rungs = [first]
    for count in (FEWEST_CANDIDATES, MANY_CANDIDATES)[: MOST_RUNGS - 1]:
        if _cost(count, [*rungs, rungs[-1] * KEPT]) <= budget:
            rungs.append(rungs[-1] * KEPT)
    candidates = FEWEST_CANDIDATES
    while candidates < MOST_CANDIDATES and _cost(candidates + 1, rungs) <= budget:
        candidates += 1
    if candidates == MOST_CANDIDATES:  # time is left: train each longer
        factor = min(budget / _cost(candidates, rungs), MOST_EPOCHS / rungs[-1] / 2)
        rungs = [max(1, round(epochs * max(1.0, factor))) for epochs in rungs]
    finals = (FINISHED - REFINED) * seconds / epoch / FINALISTS
    seeds = max(FEWEST_SEEDS, min(MOST_SEEDS, int(finals / max(2 * rungs[-1], 1))))
    refining = max(first, min(rungs[-1], int((REFINED - HALVED) * seconds / epoch / 8)))
    screened = max(4 * candidates, min(5_000, int(SCREENING * seconds / per_score)))
    return Plan(batch, candidates, tuple(rungs), refining, seeds, screened)


def _cost(candidates: int, rungs: list[int]) -> float:
    """Return the epochs that successive halving takes, with a baseline that is always kept."""
    total, left = 0.0, candidates
    for epochs in rungs:
        total += left * epochs
        left = max(2, math.ceil(left / KEPT))
    return total


def seconds_per_sample(network: nn.Module, data: Dataset, recipe: TrainingRecipe) -> float:
    """Measure how long a network is trained on one sample. The network is changed."""
    count = min(recipe.batch_size, len(data.x_train))
    batch = data.x_train[:count], data.y_train[:count]
    loop = Loop(network, recipe, SAMPLES_TIMED + 1)
    next(loop.run([batch]))  # the first step also allocates memory
    times = []
    for _ in range(SAMPLES_TIMED):
        begin = time.perf_counter()
        next(loop.run([batch]))
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2] / count
