"""The bounds of HNAS: combinations of a gradient metric M and the condition number kappa of the tangent kernel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from firstlight.core.seeds import derive
from firstlight.core.statistics import FEWEST, Numbers, spearman
from firstlight.papers.rank_rows import Formula, Known, Utilities

METRICS = {"Grad": "grad_norm", "SNIP": "snip", "GraSP": "grasp", "Trace": "ntk_trace"}
# From the appendix of the paper
OTHER_METRICS = {"KNAS": "knas", "Fisher": "fisher", "SynFlow": "synflow", "NASWOT": "naswot:variant=hnas"}
PROXY_OF = METRICS | OTHER_METRICS
KAPPA = "ntk_condition"
TINY = 1e-6
# The grid for the free numbers of the bound: nu as a share of the largest M, and the exponent of mu
SHARES = tuple(np.linspace(0, 1, 11))
EXPONENTS = tuple(np.linspace(-4, 0, 9))
TUNED = (
    "The non-realizable bound, kappa / M + mu |M^2 - nu^2|, has two free numbers. They are tuned on one half of the "
    "networks, by accuracy, and judged on the other half."
)


def size_of(values: Numbers) -> Numbers:
    """Return the absolute values."""
    found: Numbers = np.abs(values)
    return found


def size(metric: str) -> Formula:
    """Return the formula M: the bound in the realizable case."""
    return lambda utilities, _known: size_of(utilities[PROXY_OF[metric]])


def condition_only(metric: str) -> Formula:
    """Return the formula -kappa / M."""
    return lambda utilities, _known: -_ratio(utilities, metric)


def bound(metric: str) -> Formula:
    """Return the formula -(kappa / M + mu |M^2 - nu^2|): the bound in the non-realizable case; see `tuned`."""

    def formula(utilities: Utilities, known: Known) -> Numbers:
        return tuned(size_of(utilities[PROXY_OF[metric]]), _ratio(utilities, metric), known)

    return formula


def tuned(m: Numbers, ratio: Numbers, known: Known) -> Numbers:
    """Return the bound of the half of the networks on which mu and nu were not tuned, NaN for the others.

    Networks of one class share a score, so all of them are in one half.
    """
    truth, groups = known.truth, known.groups
    usable = np.flatnonzero(np.isfinite(m) & np.isfinite(ratio) & np.isfinite(truth))
    classes = np.random.default_rng(derive(known.seed, "halves")).permutation(np.unique(groups[usable]))
    in_first = np.isin(groups[usable], classes[: len(classes) // 2])
    tuned_on, judged_on = usable[in_first], usable[~in_first]
    values = np.full(len(m), np.nan)
    if len(tuned_on) < FEWEST:
        return values
    largest = float(m[tuned_on].max())

    def utility(share: float, exponent: float, rows: Any) -> Numbers:
        found: Numbers = -(ratio[rows] + 10**exponent * np.abs(m[rows] ** 2 - (share * largest) ** 2))
        return found

    def correlation(numbers: tuple[float, float]) -> float:
        found = spearman(utility(*numbers, tuned_on), truth[tuned_on])
        return found if np.isfinite(found) else -1.0

    best = max(itertools.product(SHARES, EXPONENTS), key=correlation)
    values[judged_on] = utility(*best, judged_on)
    return values


def _ratio(utilities: Utilities, metric: str) -> Numbers:
    """Return kappa / M. Lower condition numbers are better, so that their utility is their negative."""
    found: Numbers = -utilities[KAPPA] / (size_of(utilities[PROXY_OF[metric]]) + TINY)
    return found
