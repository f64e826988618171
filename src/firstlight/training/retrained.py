"""Results of retraining: networks that were trained from scratch after a search, compared with others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from firstlight.core.statistics import CONFIDENCE
from firstlight.training.clicks import ClickResult
from firstlight.training.recipes import RecipeRequest

# Where a network comes from: the search, chance, or a person
Kind = Literal["found", "random", "by hand"]


@dataclass(frozen=True)
class Standing:
    """One network, trained once for each seed. Metrics are means over the trainings that came to their end.

    Args:
        name: The text of the architecture, or the name of a hand-made network.
        kind: Where the network comes from.
        results: One result for each seed.
        weights: The file with the weights of the first seed, as a path relative to the folder of the run.
    """

    name: str
    kind: Kind
    results: tuple[ClickResult, ...]
    weights: str | None = None

    @property
    def ended(self) -> list[ClickResult]:
        """The results of trainings that came to their end."""
        return [result for result in self.results if result.status == "ok"]

    def mean(self, part: str, metric: str) -> float | None:
        """Return the mean of a metric on a part of the data; None if it is unknown."""
        known = self.values(part, metric)
        return statistics.fmean(known) if known else None

    def deviation(self, part: str, metric: str) -> float | None:
        """Return the standard deviation of a metric over the seeds; None if there are fewer than two."""
        known = self.values(part, metric)
        return statistics.stdev(known) if len(known) > 1 else None

    def values(self, part: str, metric: str) -> list[float]:
        """Return a metric of each training that came to its end; none if it is unknown."""
        known = [getattr(getattr(result, part), metric) for result in self.ended]
        return [] if None in known else known

    def to_dict(self) -> dict[str, Any]:
        """Return the means and all results."""
        means = {
            f"{part}_{metric}": self.mean(part, metric)
            for part in ("validation", "test")
            for metric in ("log_loss", "auc")
        }
        results = [result.to_dict() for result in self.results]
        return {"name": self.name, "kind": self.kind, **means, "results": results, "weights": self.weights}


@dataclass(frozen=True)
class LossVerdict:
    """How a found network compares with a handcrafted one.

    Attributes:
        outcome: Whether its log loss is better or worse, or whether that cannot be told. With a single training of
            either, this is the order of the two losses, and the text says so.
        text: The verdict in words, with figures.
    """

    outcome: Literal["better", "worse", "unclear"]
    text: str


def _judge(ours: Sequence[float], theirs: Sequence[float], baseline: str) -> LossVerdict:
    """Compare the log losses of a found network with those of a handcrafted one."""
    gain = statistics.fmean(theirs) - statistics.fmean(ours)
    outcome: Literal["better", "worse"] = "better" if gain > 0 else "worse"
    figure = f"test log loss {statistics.fmean(ours):.4f} against {statistics.fmean(theirs):.4f}"
    simpler = f" Use {baseline}: it is simpler."
    if min(len(ours), len(theirs)) < 2:
        unknown = "so the spread between trainings is unknown (--retrain-times 3)."
        text = f"The found network is {outcome} than {baseline} ({figure}) in one training each, {unknown}"
        return LossVerdict(outcome, text + simpler * (outcome == "worse"))
    reach = _welch(ours, theirs)
    figures = f"({figure}, gain {gain:.4f} [{gain - reach:.4f}, {gain + reach:.4f}])"
    if abs(gain) <= reach:
        seeds = f"over {min(len(ours), len(theirs))} seeds"
        text = f"The found network is not distinguishable from {baseline} {seeds} {figures}.{simpler}"
        return LossVerdict("unclear", text)
    instead = f": use {baseline}" if outcome == "worse" else ""
    return LossVerdict(outcome, f"The found network is {outcome} than {baseline} {figures}{instead}.")


def _welch(first: Sequence[float], second: Sequence[float]) -> float:
    """Return half of the width of the 95 % interval of the difference of two means."""
    from scipy.stats import t

    parts = [(statistics.variance(values) / len(values), len(values) - 1) for values in (first, second)]
    total = sum(variance for variance, _ in parts)
    if not total:
        return 0.0
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in parts)
    return float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(total)


@dataclass(frozen=True)
class Retraining:
    """All networks that were retrained.

    Args:
        recipe: How they were trained.
        data: The fingerprint of the data.
        seeds: The seeds.
        standings: The networks, the lowest log loss on the validation set first; those without any come last.
    """

    recipe: RecipeRequest
    data: str
    seeds: tuple[int, ...]
    standings: tuple[Standing, ...]

    @property
    def best(self) -> Standing | None:
        """The found network with the lowest log loss on the validation set."""
        return next((s for s in self.standings if s.kind == "found" and s.ended), None)

    @property
    def median_random(self) -> float | None:
        """The median log loss of the random networks on the test set."""
        known = [s.mean("test", "log_loss") for s in self.standings if s.kind == "random"]
        ended = [loss for loss in known if loss is not None]
        return statistics.median(ended) if ended else None

    @property
    def verdict(self) -> LossVerdict | None:
        """How the best found network compares with the best handcrafted one, by the log loss on the test set.

        Both are the best of their kind on the validation set. With two or more trainings each, the difference of their
        means has a 95 % interval over the seeds, by Welch's t; test rows, which are many, are not counted. None if one
        of the two is missing.
        """
        found = self.best
        baseline = next((s for s in self.standings if s.kind == "by hand" and s.ended), None)
        if found is None or baseline is None:
            return None
        ours, theirs = (standing.values("test", "log_loss") for standing in (found, baseline))
        return _judge(ours, theirs, baseline.name) if ours and theirs else None

    def to_dict(self) -> dict[str, Any]:
        """Return what `result.json` of a search holds under `retrained`."""
        return {
            "recipe": str(self.recipe),
            "data": self.data,
            "seeds": list(self.seeds),
            "best": None if self.best is None else self.best.name,
            "verdict": None if (verdict := self.verdict) is None else asdict(verdict),
            "median_random_test_log_loss": self.median_random,
            "networks": [standing.to_dict() for standing in self.standings],
        }
