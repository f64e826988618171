"""Fit a latency model to measurements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import spearmanr

from firstlight.core.errors import TooFewError
from firstlight.scoring.devices.features import FEATURES
from firstlight.scoring.devices.model import DeviceModel

FOLDS = 10
FEWEST = 20
# A network that takes next to no time counts as much as one that takes this share of the median.
LEAST_SHARE = 0.1
COVERED = (0.025, 0.975)

Array = NDArray[np.float64]


def coefficients_of(features: Array, milliseconds: Array) -> Array:
    """Return the time of each feature, at least 0, by least squares of relative errors.

    Args:
        features: A row for each network, of shape (networks, features).
        milliseconds: Their latencies, of shape (networks,).
    """
    weights = 1 / np.maximum(milliseconds, LEAST_SHARE * np.median(milliseconds))
    largest = np.maximum(features.max(axis=0), 1e-12)
    found, _ = nnls(features / largest * weights[:, None], milliseconds * weights)
    return np.asarray(found / largest)


def fit_device(
    name: str,
    title: str,
    source: str,
    simplified: Array,
    as_run: Array,
    milliseconds: Array,
    *,
    kinds: Iterable[str],
    seed: int = 0,
) -> DeviceModel:
    """Fit a model, and judge it by cross-validation.

    Args:
        name: Name of the device.
        title: What it is.
        source: Where the measurements come from.
        simplified: Features of the networks as formats simplify them, of shape (networks, features).
        as_run: Features of the networks as PyTorch runs them.
        milliseconds: The measured latencies.
        kinds: The kinds of operations in the networks.
        seed: Seed of the folds.

    Returns:
        The model of the features that predict better.

    Raises:
        TooFewError: If there are fewer than 20 networks.
    """
    check_enough(len(milliseconds))
    order = np.random.default_rng(seed).permutation(len(milliseconds))
    predicted = {
        kind: _held_out(kind_of, milliseconds, order) for kind, kind_of in ((True, simplified), (False, as_run))
    }
    errors = {kind: relative_error(values, milliseconds) for kind, values in predicted.items()}
    best = errors[True] <= errors[False]
    features = simplified if best else as_run
    ratios = milliseconds / np.maximum(predicted[best], 1e-9)
    low, high = np.quantile(ratios, COVERED)
    return DeviceModel(
        name=name,
        title=title,
        source=source,
        simplified=best,
        coefficients=_named(coefficients_of(features, milliseconds)),
        low=float(low),
        high=float(high),
        largest=_named(features.max(axis=0)),
        kinds=tuple(sorted(kinds)),
        networks=len(milliseconds),
        spearman=float(spearmanr(predicted[best], milliseconds).statistic),
        error=errors[best],
    )


def check_enough(networks: int) -> None:
    """Raise `TooFewError` if there are fewer networks than a model needs."""
    if networks < FEWEST:
        raise TooFewError(f"A latency model needs at least {FEWEST} measured networks; there are {networks}.")


def relative_error(predicted: Array, milliseconds: Array) -> float:
    """Return the mean of |prediction / measurement - 1|."""
    return float(np.mean(np.abs(predicted / milliseconds - 1)))


def _held_out(features: Array, milliseconds: Array, order: NDArray[np.int64]) -> Array:
    """Return a prediction for each network by models fitted without it."""
    found = np.zeros(len(milliseconds))
    for fold in np.array_split(order, FOLDS):
        others = np.setdiff1d(order, fold)
        found[fold] = features[fold] @ coefficients_of(features[others], milliseconds[others])
    return found


def _named(values: Array) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in zip(FEATURES, values, strict=True)}
