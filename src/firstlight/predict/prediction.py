"""Predictions of the networks of a pool: their order, how sure it is, what it rests on, and which features matter."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.statistics import finite, spearman
from firstlight.predict.design import Numbers, design, prior_of
from firstlight.predict.labels import Labels
from firstlight.predict.models import Trees
from firstlight.predict.predictor import COVERAGE, Fit, Predicted, predict_pool

# Explanations shuffle the features that are most important to the forest, among this many networks
EXPLAINED, AMONG = 12, 200
PRIOR = "the prior"


@dataclass(frozen=True)
class PredictedNetwork:
    """A network in a prediction.

    Attributes:
        rank: 1 for the best.
        architecture: Its canonical text.
        value: The expected result, or the observed one.
        low, high: The interval that holds the result of a training with a probability of 80 %.
        observed: The result of its training by target, where it is known.
    """

    rank: int
    architecture: str
    value: float
    low: float
    high: float
    observed: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        figures = {"rank": self.rank, "architecture": self.architecture, "value": finite(self.value)}
        return figures | {"low": finite(self.low), "high": finite(self.high), "observed": dict(self.observed)}


@dataclass(frozen=True)
class FittedOn:
    """What a prediction was fitted on, for one target.

    Attributes:
        target: The target.
        labels: The number of networks.
        short: Whether the results are of short trainings.
        lowest, highest: The range of the labels.
    """

    target: str
    labels: int
    short: bool
    lowest: float
    highest: float


@dataclass(frozen=True)
class Prediction:
    """The result of `firstlight.predict`.

    Attributes:
        target: What `value`, `low` and `high` are of.
        networks: All networks of the pool, best first.
        fitted_on: The labels, fewest epochs first.
        model: The name of the model.
        proxies: The proxies of the prior.
        features: Where features come from, and how many there are.
        agreement: The rank correlation of labels with predictions that were made without them; None if not defined.
        prior_agreement: That of the labels with the prior.
        importances: How much each feature matters: 1 minus the rank correlation of the prediction with that after the
            feature was shuffled.
        remarks: Notes on what was left out.

    >>> widths = [f"{width}:8:8:8:8" for width in (8, 16, 24, 32, 40, 48)]
    >>> rows = pandas.DataFrame({"architecture": widths, "cifar10_val_12": [60, 61, 62, 63, 64, 65]})
    >>> mine = firstlight.Table(rows, "mine")
    >>> found = firstlight.predict("nats-sss", labels=mine, samples=4, proxies="params", model="prior", workers=0)
    >>> len(found.networks), found.fitted_on[0].short
    (10, True)
    """

    target: str
    networks: tuple[PredictedNetwork, ...]
    fitted_on: tuple[FittedOn, ...]
    model: str
    proxies: tuple[str, ...]
    features: str
    agreement: float | None
    prior_agreement: float | None
    importances: Mapping[str, float]
    remarks: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The probability that the interval holds the result of a training."""
        return COVERAGE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        return {
            "target": self.target,
            "model": self.model,
            "proxies": list(self.proxies),
            "features": self.features,
            "fitted_on": [vars(entry) for entry in self.fitted_on],
            "agreement": self.agreement,
            "prior_agreement": self.prior_agreement,
            "coverage": self.coverage,
            "importances": dict(self.importances),
            "networks": [network.to_dict() for network in self.networks],
            "remarks": list(self.remarks),
        }

    def table(self) -> pd.DataFrame:
        """Return the networks as a data frame, with a column for each target that was observed."""
        rows = [{**network.to_dict(), **network.observed} for network in self.networks]
        return pd.DataFrame(rows).drop(columns="observed")

    def write_csv(self, path: Path) -> None:
        """Write the networks to a CSV file."""
        self.table().to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL)


def predict_networks(
    features: pd.DataFrame,
    utilities: pd.DataFrame,
    labels: Labels,
    *,
    prior: Sequence[str],
    model: str = "mixed",
    described: str = "",
    seed: int = 0,
) -> Prediction:
    """Predict the results of networks.

    Args:
        features: A row for each network, by its canonical text.
        utilities: The same rows, and a column for each proxy, of which higher is better; NaN without a score.
        labels: Results of some of them.
        prior: The columns of `utilities` that rank the pool without labels.
        model: A name of `MODELS`.
        described: Where features come from.
        seed: The seed of the models.

    Raises:
        DataError: If nothing can be learned from the labels.
    """
    texts = [str(text) for text in features.index]
    before, seen = prior_of(utilities[list(prior)]), design(features, utilities)
    rows = seen.to_numpy()
    observed = labels.observed(texts)
    found = predict_pool(rows, before, observed, model=model, seed=seed)
    last = observed[-1]
    order = np.lexsort((np.array(texts), -found.score))
    known = {target: labels.values[target].dropna().to_dict() for target in labels.targets}
    networks = tuple(
        PredictedNetwork(
            rank,
            texts[place],
            float(found.value[place]),
            float(found.low[place]),
            float(found.high[place]),
            {target: float(values[texts[place]]) for target, values in known.items() if texts[place] in values},
        )
        for rank, place in enumerate(order, start=1)
    )
    fitted = tuple(
        FittedOn(o.name, len(o.values), o.short, float(o.values.min()), float(o.values.max())) for o in observed
    )
    assert found.errors is not None
    return Prediction(
        last.name,
        networks,
        fitted,
        model,
        tuple(prior),
        f"{features.shape[1]} features of {described}" if described else f"{features.shape[1]} features",
        finite(spearman(found.errors.predicted, last.values)),
        finite(spearman(before[last.rows], last.values)),
        explain(found, seen, before, seed),
        labels.remarks,
    )


def explain(found: Predicted, seen: pd.DataFrame, prior: Numbers, seed: int = 0) -> dict[str, float]:
    """Return how much the prior, and each of the features that matter most, decides the predicted order.

    Args:
        found: The prediction.
        seen: What models see of each network, as `design` makes it.
        prior: The prior of each network.
        seed: The seed by which features are shuffled.

    Returns:
        1 minus the rank correlation of the prediction with that after a feature was shuffled, the largest first.
    """
    fit = found.fits[-1]
    generator = np.random.default_rng(seed)
    some = generator.permutation(len(seen))[:AMONG]
    rows, own = seen.to_numpy()[some], prior[some]
    usual, _ = fit.predict(rows, own)
    importances = {PRIOR: _change(usual, fit, rows, generator.permutation(own))}
    for place in _candidates(fit, rows):
        shuffled = rows.copy()
        shuffled[:, place] = generator.permutation(rows[:, place])
        importances[str(seen.columns[place])] = _change(usual, fit, shuffled, own)
    return dict(sorted(importances.items(), key=lambda entry: -entry[1])[: EXPLAINED + 1])


def _change(usual: Numbers, fit: Fit, rows: Numbers, prior: Numbers) -> float:
    return 1 - (finite(spearman(usual, fit.predict(rows, prior)[0])) or 0.0)


def _candidates(fit: Fit, rows: Numbers) -> list[int]:
    """Return the places of the features that are worth shuffling: the most important to trees; all without trees."""
    trees = fit.forest or fit.model
    if not isinstance(trees, Trees):
        return list(range(rows.shape[1]))
    importances = trees.importances[: rows.shape[1]]  # the prior may come last
    return [int(place) for place in np.argsort(-importances, kind="stable")[:EXPLAINED]]
