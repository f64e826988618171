"""REINFORCE: a policy draws each choice independently, and learns from the rewards."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Annotated

from firstlight.search.algorithm import InQueries, algorithm
from firstlight.search.problem import PATIENCE, Problem
from firstlight.spaces.base import Architecture


@algorithm(reference="Williams1992reinforce", needs=("choices",))
def reinforce(
    problem: Problem, *, learning_rate: float = 0.1, decay: float = 0.9, batch: Annotated[int, InQueries(1)] = 8
) -> None:
    """A policy of independent choices: choices of networks above the baseline become more likely.

        logits += learning_rate * advantage * (one_hot(choice) - softmax(logits))    for each choice of the network

    The advantage is the reward minus the baseline, in standard deviations of all rewards so far, so the scale of the
    scores does not matter. The baseline is a moving average. No network is scored twice.

    Args:
        learning_rate: Step size of the logits.
        decay: Decay of the moving average per reward.
        batch: Number of networks drawn before the policy is updated, which are scored together.
    """
    policy = Policy([len(options) for options in problem.space.choices()])
    seen: set[str] = set()
    rewards = Rewards()
    baseline = math.nan
    while problem.remaining:
        drawn = list(_new_draws(problem, policy, seen, min(batch, problem.remaining)))
        if not drawn:
            return  # the policy has converged to networks that are all known
        answers = problem.score(architecture for _, architecture in drawn)
        for (choices, _), candidate in zip(drawn, answers, strict=True):
            reward = problem.utility(candidate)
            if reward is None:  # as bad as the worst so far
                reward = rewards.worst
            if not math.isfinite(reward):
                continue
            rewards.add(reward)
            baseline = reward if math.isnan(baseline) else decay * baseline + (1 - decay) * reward
            if rewards.deviation > 0:
                policy.learn(choices, learning_rate * (reward - baseline) / rewards.deviation)


class Policy:
    """A softmax for each choice; all options are equally likely at first."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.logits = [[0.0] * size for size in sizes]

    def probabilities(self) -> list[list[float]]:
        return [_softmax(logits) for logits in self.logits]

    def sample(self, rng: random.Random) -> tuple[int, ...]:
        return tuple(rng.choices(range(len(shares)), shares)[0] for shares in self.probabilities())

    def learn(self, choices: Sequence[int], step: float) -> None:
        """Take a step along the gradient of the log-probability of these choices."""
        for logits, choice in zip(self.logits, choices, strict=True):
            for option, share in enumerate(_softmax(logits)):
                logits[option] += step * ((option == choice) - share)


class Rewards:
    """The standard deviation of all rewards (Welford's algorithm), and the worst of them."""

    def __init__(self) -> None:
        self.worst = math.inf
        self._count = 0
        self._mean = self._squares = 0.0

    def add(self, reward: float) -> None:
        self.worst = min(self.worst, reward)
        self._count += 1
        before = self._mean
        self._mean += (reward - before) / self._count
        self._squares += (reward - before) * (reward - self._mean)

    @property
    def deviation(self) -> float:
        return math.sqrt(self._squares / self._count) if self._count else 0.0


def _new_draws(
    problem: Problem, policy: Policy, seen: set[str], count: int
) -> Iterator[tuple[tuple[int, ...], Architecture]]:
    """Yield choices with their architectures, within the limits and not seen before."""
    for _ in range(PATIENCE):
        if not count:
            return
        choices = policy.sample(problem.rng)
        architecture = problem.space.canonical(problem.space.from_choices(choices))
        if str(architecture) not in seen and problem.fits(architecture):
            seen.add(str(architecture))
            count -= 1
            yield choices, architecture


def _softmax(logits: Sequence[float]) -> list[float]:
    highest = max(logits)
    weights = [math.exp(logit - highest) for logit in logits]
    return [weight / sum(weights) for weight in weights]
