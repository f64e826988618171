"""Rank correlation within strata: networks are only compared with others of their own family, size or both."""

from __future__ import annotations

import numpy as np

from firstlight.core.statistics import NOTHING_LEFT, Numbers, pearson, ranks


def spearman_within(first: Numbers, second: Numbers, strata: Numbers, *given: Numbers) -> float:
    """Return the correlation of the ranks that networks have within their strata.

    Args:
        first: One value for each network, shape (N,).
        second: Another one.
        strata: The number of each network's stratum, shape (N,).
        given: Costs whose ranks are accounted for, as by `partial_spearman`, shape (N,) each.

    Returns:
        The correlation, in which each network counts alike; NaN if nothing is left to correlate. With a single
        stratum, it is Spearman's correlation, or the partial one.
    """
    centered = np.column_stack([_centered_ranks(values, strata) for values in (first, second, *given)])
    both, others = centered[:, :2], centered[:, 2:]
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0] if given else both
    spread = np.linalg.norm(both, axis=0)
    if (np.linalg.norm(left, axis=0) <= NOTHING_LEFT * spread).any():
        return float("nan")
    return pearson(left[:, 0], left[:, 1])


def _centered_ranks(values: Numbers, strata: Numbers) -> Numbers:
    """Return ranks within strata as shares of their sizes, shifted to mean zero."""
    found: Numbers = np.zeros(len(values))
    for stratum in np.unique(strata):
        members = strata == stratum
        place = ranks(values[members])
        found[members] = (place - place.mean()) / len(place)
    return found
