"""What predictors see: features of architectures and proxies, brought to a common scale within a pool."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# A constant column has no scale; differences below this share of its size are rounding
NO_SPREAD = 1e-9


def normal_scores(values: Numbers | Sequence[float]) -> Numbers:
    """Return what a normal distribution has at the rank of each value; equals share a rank, and NaN ranks lowest.

    Example:
        >>> normal_scores([93.0, 10.0, 94.0]).round(2).tolist()
        [0.0, -0.97, 0.97]
    """
    from scipy.stats import norm, rankdata  # slow to import

    known = np.asarray(values, dtype=float)
    ranked = rankdata(np.where(np.isnan(known), -np.inf, known))
    found: Numbers = norm.ppf((ranked - 0.5) / max(len(known), 1))
    return found


def prior_of(utilities: pd.DataFrame, weights: Sequence[float] | None = None) -> Numbers:
    """Return the ranking of a pool without labels: normal scores of the mean rank by each proxy.

    Args:
        utilities: A row for each network and a column for each proxy, of which higher is better; NaN without a score.
        weights: The weight of each proxy. Default: all alike.

    Returns:
        A number for each network, higher for a better one; zeros without any proxy.
    """
    if not utilities.shape[1]:
        return np.zeros(len(utilities))
    ranked = utilities.astype(float).fillna(-math.inf).rank()
    return normal_scores(np.average(ranked.to_numpy(), axis=1, weights=weights))


def design(features: pd.DataFrame, utilities: pd.DataFrame) -> pd.DataFrame:
    """Return what models are fitted on: standardized features, and normal scores of the proxies.

    Each of the two parts is divided by the square root of its number of columns, so that distances between networks
    depend as much on the one as on the other.

    Args:
        features: A row for each network of the pool.
        utilities: The same rows, and a column for each proxy.
    """
    centered = features.astype(float) - features.mean()
    spread = centered.std(ddof=0)
    varying = spread.index[spread > NO_SPREAD * features.abs().max().clip(lower=1.0)]
    graph = centered[varying] / spread[varying] / math.sqrt(max(len(varying), 1))
    scores = {name: normal_scores(utilities[name].to_numpy(dtype=float)) for name in utilities}
    by_proxy = pd.DataFrame(scores, index=features.index) / math.sqrt(max(len(scores), 1))
    return pd.concat([graph, by_proxy], axis=1)
