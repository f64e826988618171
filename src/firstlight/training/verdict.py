"""Did the search help? The network that was found against the best plain baseline, in figures and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight.core.paired import Answers, accuracy_difference, samples_part
from firstlight.core.statistics import Estimate

Outcome = Literal["better", "worse", "alike", "unclear"]
# Networks whose accuracies differ by at most this are as good as each other
ALIKE = 0.02


@dataclass(frozen=True)
class NetworkAnswers:
    """A network that was trained once for each seed, and tested.

    Attributes:
        title: What reports call it, such as "plain ResNet".
        right: Whether each answer is right, shape (trainings, test samples).
    """

    title: str
    right: Answers

    @property
    def named(self) -> str:
        """What sentences call it: `the plain ResNet`, `logistic regression`."""
        return f"the {self.title}" if self.title.startswith("plain") else self.title

    @property
    def accuracies(self) -> list[float]:
        """The accuracy of each training."""
        return [float(accuracy) for accuracy in self.right.mean(1)]

    @property
    def accuracy(self) -> float:
        """The mean accuracy."""
        return float(self.right.mean())


@dataclass(frozen=True)
class Verdict:
    """How the found network compares with a baseline.

    Attributes:
        outcome: Whether it is better, worse or as good, or whether that cannot be told.
        text: The verdict in words, with figures.
        difference: Its accuracy minus that of the baseline, with a 95 % interval.
        baseline: What the baseline is called.
        samples: The number of test samples.
        trainings: How often each of the two was trained.
    """

    outcome: Outcome
    text: str
    difference: Estimate
    baseline: str
    samples: int
    trainings: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON holds it; differences are in points of accuracy."""
        low, high = _points(self.difference.low), _points(self.difference.high)
        return {
            "outcome": self.outcome,
            "text": self.text,
            "difference": _points(self.difference.value),
            "interval": [low, high],
            "baseline": self.baseline,
            "test_samples": self.samples,
            "trainings": list(self.trainings),
        }


def judge(found: NetworkAnswers, baseline: NetworkAnswers) -> Verdict:
    """Compare a found network with a baseline that was tested on the same samples."""
    difference = accuracy_difference(found.right, baseline.right)
    if difference.low > 0:
        outcome: Outcome = "better"
    elif difference.high < 0:
        outcome = "worse"
    elif max(-difference.low, difference.high) <= ALIKE:
        outcome = "alike"
    else:
        outcome = "unclear"
    trainings = len(found.right), len(baseline.right)
    text = " ".join([_sentence(outcome, difference, found, baseline), *_doubts(outcome, found, baseline)])
    return Verdict(outcome, text, difference, baseline.title, found.right.shape[1], trainings)


def same_network(tested: NetworkAnswers) -> Verdict:
    """Return the verdict where the baseline itself was chosen: no network was better on the validation samples."""
    text = f"No network was better than {tested.named} on the validation samples: use that one."
    trainings = len(tested.right), len(tested.right)
    return Verdict("alike", text, Estimate(0.0, 0.0, 0.0), tested.title, tested.right.shape[1], trainings)


def _sentence(outcome: Outcome, difference: Estimate, found: NetworkAnswers, baseline: NetworkAnswers) -> str:
    interval = f"[{_written(difference.low)}, {_written(difference.high)}]"
    points, title = _written(abs(difference.value)), baseline.named
    if outcome == "better":
        return f"Better than {title} by {points} points {interval}."
    if outcome == "worse":
        turned = f"[{_written(-difference.high)}, {_written(-difference.low)}]"
        return f"Worse than {title} by {points} points {turned}: use that one."
    signed = f"{_written(difference.value)} points {interval}"
    if outcome == "alike":
        return f"As good as {title}: the difference is {signed}. Use that one: it is simpler."
    count = f"{found.right.shape[1]:,} test sample{'s' * (found.right.shape[1] != 1)}"
    return f"Not distinguishable from {title} on {count}: the difference is {signed}."


def _doubts(outcome: Outcome, found: NetworkAnswers, baseline: NetworkAnswers) -> list[str]:
    """Say what the interval leaves out, and what would tell more."""
    said = []
    once = [len(tested.right) for tested in (found, baseline)].count(1)
    if once:
        who = "Each was" if once == 2 else "One of them was"
        said.append(f"{who} trained once: how much trainings differ is not part of the interval.")
    if outcome == "unclear":
        reach = accuracy_difference(found.right, baseline.right)
        share = samples_part(found.right, baseline.right)
        width, samples = (reach.high - reach.low) / 2, found.right.shape[1]
        if share >= 0.5:
            needed = samples * (width / ALIKE) ** 2
            said.append(f"About {_rounded(needed)} test samples would tell differences of {_written(ALIKE)} points.")
        else:
            said.append("Trainings differ more than test samples do: more seeds would tell more.")
    return said


def stacked(rows: Sequence[Sequence[bool]]) -> Answers:
    """Return the answers of several trainings as an array."""
    return np.array(rows, dtype=bool)


def _points(share: float) -> float:
    return round(100 * share, 2)


def _written(share: float) -> str:
    return f"{100 * share + 0.0:.1f}"


def _rounded(count: float) -> str:
    """Write a number with one digit that counts, rounded up."""
    size = 10 ** max(0, math.floor(math.log10(max(count, 1))))
    return f"{math.ceil(count / size) * size:,}"
