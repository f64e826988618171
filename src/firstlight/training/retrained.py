"""Results of retraining: networks that were trained from scratch after a search, compared with others."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any, Literal

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
        known = self._values(part, metric)
        return statistics.fmean(known) if known else None

    def deviation(self, part: str, metric: str) -> float | None:
        """Return the standard deviation of a metric over the seeds; None if there are fewer than two."""
        known = self._values(part, metric)
        return statistics.stdev(known) if len(known) > 1 else None

    def _values(self, part: str, metric: str) -> list[float]:
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

    def to_dict(self) -> dict[str, Any]:
        """Return what `result.json` of a search holds under `retrained`."""
        return {
            "recipe": str(self.recipe),
            "data": self.data,
            "seeds": list(self.seeds),
            "best": None if self.best is None else self.best.name,
            "median_random_test_log_loss": self.median_random,
            "networks": [standing.to_dict() for standing in self.standings],
        }
