"""What HNAS makes of a gradient metric M and the condition number kappa of the tangent kernel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from firstlight.core.seeds import derive
from firstlight.core.statistics import FEWEST, Numbers, spearman
from firstlight.papers.rank_rows import Formula, Known, Utilities

METRICS = {"Grad": "grad_norm", "SNIP": "snip", "GraSP": "grasp", "Trace": "ntk_trace"}
# Those of the paper's appendix
OTHER_METRICS = {"KNAS": "knas", "Fisher": "fisher", "SynFlow": "synflow", "NASWOT": "naswot:variant=hnas"}
PROXY_OF = METRICS | OTHER_METRICS
KAPPA = "ntk_condition"
TINY = 1e-6
# Where the two numbers of the bound are looked for: nu as a share of the largest M, and the exponent of mu
SHARES = tuple(np.linspace(0, 1, 11))
EXPONENTS = tuple(np.linspace(-4, 0, 9))
TUNED = (
    "The non-realizable bound, kappa / M + mu |M^2 - nu^2|, has two free numbers. They are chosen on one half of the "
    "networks, by their accuracies, and judged on the other."
)


def size_of(values: Numbers) -> Numbers:
    found: Numbers = np.abs(values)
    return found


def size(metric: str) -> Formula:
    """M itself: the realizable case."""
    return lambda utilities, _known: size_of(utilities[PROXY_OF[metric]])


def condition_only(metric: str) -> Formula:
    """- kappa / M."""
    return lambda utilities, _known: -_ratio(utilities, metric)


def bound(metric: str) -> Formula:
    """- ( kappa / M + mu |M^2 - nu^2| ), for the half of the networks that mu and nu were not chosen on."""

    def formula(utilities: Utilities, known: Known) -> Numbers:
        return tuned(size_of(utilities[PROXY_OF[metric]]), _ratio(utilities, metric), known)

    return formula


def tuned(m: Numbers, ratio: Numbers, known: Known) -> Numbers:
    """Networks of one class, which share a score, are all in one half."""
    truth, groups = known.truth, known.groups
    usable = np.flatnonzero(np.isfinite(m) & np.isfinite(ratio) & np.isfinite(truth))
    classes = np.random.default_rng(derive(known.seed, "halves")).permutation(np.unique(groups[usable]))
    in_first = np.isin(groups[usable], classes[: len(classes) // 2])
    chosen_on, judged_on = usable[in_first], usable[~in_first]
    values = np.full(len(m), np.nan)
    if len(chosen_on) < FEWEST:
        return values
    largest = float(m[chosen_on].max())

    def utility(share: float, exponent: float, rows: Any) -> Numbers:
        found: Numbers = -(ratio[rows] + 10**exponent * np.abs(m[rows] ** 2 - (share * largest) ** 2))
        return found

    def correlation(numbers: tuple[float, float]) -> float:
        found = spearman(utility(*numbers, chosen_on), truth[chosen_on])
        return found if np.isfinite(found) else -1.0

    best = max(itertools.product(SHARES, EXPONENTS), key=correlation)
    values[judged_on] = utility(*best, judged_on)
    return values


def _ratio(utilities: Utilities, metric: str) -> Numbers:
    """kappa / M; the condition number is the better the lower, so that its utility is its negative."""
    found: Numbers = -utilities[KAPPA] / (size_of(utilities[PROXY_OF[metric]]) + TINY)
    return found
