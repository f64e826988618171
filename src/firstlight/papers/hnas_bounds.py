"""The bounds of HNAS: combinations of a gradient metric M and the condition number kappa of the tangent kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
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
# The grid for the free numbers of the bound: nu is a quantile of M (or of M^2), and mu is relative to the typical sizes
# of both terms, so that either may decide
QUANTILES = tuple(np.linspace(0, 1, 11))
EXPONENTS = tuple(np.linspace(-3, 3, 13))
TUNED = (
    "The non-realizable bound, kappa / M + mu (M^2 - nu)^2, has two free numbers. They are tuned on one half of the "
    "networks, by accuracy, and judged on the other half. The paper tunes and judges them on all networks. Rows of the "
    "published code have mu |M^2 - nu^2| instead."
)
# The second term of the bound, given M and the M at which it is to vanish
Penalty = Callable[[Numbers, float], Numbers]


def paper_penalty(m: Numbers, at: float) -> Numbers:
    """Return (M^2 - nu)^2 with nu = at^2 (Eq. 7)."""
    found: Numbers = (m**2 - at**2) ** 2
    return found


def official_penalty(m: Numbers, at: float) -> Numbers:
    """Return |M^2 - nu^2| with nu = at, as in the published code."""
    found: Numbers = np.abs(m**2 - at**2)
    return found


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


def trade_off_only(metric: str) -> Formula:
    """Return the formula -(1 / M + mu (M^2 - nu)^2); see `tuned`."""

    def formula(utilities: Utilities, known: Known) -> Numbers:
        m = size_of(utilities[PROXY_OF[metric]])
        return tuned(m, 1 / (m + TINY), known, paper_penalty)

    return formula


def bound(metric: str, penalty: Penalty = paper_penalty) -> Formula:
    """Return the formula -(kappa / M + mu (M^2 - nu)^2): the bound in the non-realizable case; see `tuned`."""

    def formula(utilities: Utilities, known: Known) -> Numbers:
        return tuned(size_of(utilities[PROXY_OF[metric]]), _ratio(utilities, metric), known, penalty)

    return formula


def official_bound(metric: str) -> Formula:
    """Return the formula -(kappa / M + mu |M^2 - nu^2|); see `tuned`."""
    return bound(metric, official_penalty)


def tuned(m: Numbers, ratio: Numbers, known: Known, penalty: Penalty) -> Numbers:
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
    targets = np.quantile(m[tuned_on], QUANTILES)
    typical = float(np.median(ratio[tuned_on]))

    def utility(target: float, exponent: float, rows: Any) -> Numbers:
        unit = typical / max(float(np.median(penalty(m[tuned_on], target))), np.finfo(float).tiny)
        found: Numbers = -(ratio[rows] + 10**exponent * unit * penalty(m[rows], target))
        return found

    def correlation(numbers: tuple[float, float]) -> float:
        found = spearman(utility(*numbers, tuned_on), truth[tuned_on])
        return found if np.isfinite(found) else -1.0

    best = max(itertools.product(targets.tolist(), EXPONENTS), key=correlation)
    values[judged_on] = utility(*best, judged_on)
    return values


def _ratio(utilities: Utilities, metric: str) -> Numbers:
    """Return kappa / M. Lower condition numbers are better, so that their utility is their negative."""
    found: Numbers = -utilities[KAPPA] / (size_of(utilities[PROXY_OF[metric]]) + TINY)
    return found
