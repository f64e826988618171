"""The prior for spaces without labels: how well it ranks the networks of spaces that it was not fitted on.

One space is left out at a time, and all plain spaces together. Beside the prior are all proxies, with parameters and
multiply-accumulates among them; the single proxy that is best on the other spaces; and priors that also, or only, know
features of the networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.core.errors import MissingFileError
from firstlight.core.statistics import (
    Estimate,
    Numbers,
    estimate,
    kendall,
    ndcg,
    partial_spearman,
    resampled,
    spearman,
)
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import in_percent
from firstlight.papers.pools import BENCHMARKS, SKELETONS, pools_of
from firstlight.predict.prior import FEATURE, NEGATED, Pool, fit_prior, leaving_out

SOURCE = "The benchmarks at hand"
PRIOR, SINGLE = "prior", "the best single proxy of the other spaces"
WITH_FEATURES, FEATURES_ONLY = "prior with features of networks", "features of networks alone"
SIZES = ("params", "macs")
# For each of several hundred figures
MOST_RESAMPLES = 200
FEWEST_GROUPS = 2
# Proxies that cost more than most others together; a prior is for many networks
EXPENSIVE = ("epe_nas", "epsilon", "l_swag", "vkdnw")


def gain_of(score: Numbers, truth: Numbers) -> float:
    """Return nDCG for accuracies as percentages or fractions; NaN for other figures."""
    return float("nan") if truth.min() < 0 else ndcg(score, in_percent(truth))


STATISTICS: Mapping[str, Callable[..., float]] = {
    "Spearman": lambda score, truth, *_: spearman(score, truth),
    "Kendall": lambda score, truth, *_: kendall(score, truth),
    "nDCG": lambda score, truth, *_: gain_of(score, truth),
    "Spearman at equal cost": partial_spearman,
}


def names_for(pools: Sequence[Pool]) -> dict[str, list[str]]:
    """Return what each kind of prior may use: proxies that score networks of all spaces, and features that vary."""
    proxies = [
        name
        for name in pools[0].proxies
        if name not in EXPENSIVE and all(np.ptp(pool.scores[name]) > 0 for pool in pools)
    ]
    features = [
        f"{FEATURE}{name}"
        for name in pools[0].features
        if all(np.ptp(pool.scores[f"{FEATURE}{name}"]) > 0 for pool in pools)
    ]
    both = [*features, *(f"{NEGATED}{name}" for name in features)]
    return {PRIOR: proxies, WITH_FEATURES: [*proxies, *both], FEATURES_ONLY: both}


def best_single(pools: Sequence[Pool], names: Sequence[str]) -> str:
    """Return the proxy with the highest mean rank correlation over groups."""

    def mean(name: str) -> float:
        each = [[spearman(pool.scores[name], pool.target) for pool in left] for _, left, _ in leaving_out(pools)]
        return float(np.mean([np.nan_to_num(group).mean() for group in each]))

    return max(names, key=mean)


def contenders_of(pools: Sequence[Pool]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the weights of all that is compared, by group and name: fitted and chosen without the group."""
    found = {}
    for group, _, others in leaving_out(pools):
        weights = {name: {name: 1.0} for name in pools[0].proxies}
        weights |= {kind: fit_prior(others, names) for kind, names in names_for(others).items()}
        found[group] = weights | {SINGLE: {best_single(others, pools[0].proxies): 1.0}}
    return found


def compare(lab: Lab, name: str, pools: Sequence[Pool], weights: Sequence[Mapping[str, float]]) -> Estimate | None:
    """Estimate a statistic of some weights in a group, or the first minus the second of two, with its interval.

    It is the mean over tasks, and over the pools of a group. Networks are resampled within each pool.
    """
    statistic = STATISTICS[name]
    rows = [_columns(pool, weights) for pool in pools]

    def mean(drawn: Sequence[Any]) -> float:
        each = [_mean_of(statistic, own[:, places], len(weights)) for own, places in zip(rows, drawn, strict=True)]
        return float(np.mean(each))

    value = mean([slice(None)] * len(pools))
    if np.isnan(value):
        return None
    count = min(lab.resamples, MOST_RESAMPLES)
    draws = zip(*(resampled(len(pool), lab.seeds[0], count) for pool in pools), strict=True)
    return estimate(value, [mean(drawn) for drawn in draws])


def _columns(pool: Pool, weights: Sequence[Mapping[str, float]]) -> Numbers:
    rows = [*(pool.score(own) for own in weights), *(pool.scores[size] for size in SIZES), *pool.truths.values()]
    return np.stack(rows)


def _mean_of(statistic: Callable[..., float], rows: Numbers, scores: int) -> float:
    """Return the mean over tasks of one score, or of the difference of two; NaN where no task defines it."""
    costs, truths = rows[scores : scores + len(SIZES)], rows[scores + len(SIZES) :]
    each = np.array([[statistic(score, truth, *costs) for truth in truths] for score in rows[:scores]])
    lead = each[0] - each[1] if scores == 2 else each[0]
    defined = lead[np.isfinite(lead)]
    return float(defined.mean()) if len(defined) else float("nan")


def _prior(lab: Lab) -> Findings:
    pools = pools_of(lab)
    groups = list(dict.fromkeys(pool.group for pool in pools))
    if len(groups) < FEWEST_GROUPS:
        raise MissingFileError(
            f"A prior is judged on spaces that it was not fitted on, and needs tables of at least {FEWEST_GROUPS} "
            f"spaces. The data folder has {len(groups)}: {', '.join(groups) or 'none'}. `firstlight table import` "
            "makes others."
        )
    contenders = contenders_of(pools)
    lines, ahead = [], {}
    for number, (group, own, _) in enumerate(leaving_out(pools), start=1):
        lab.progress(number, len(contenders), group)
        weights = contenders[group]
        for name in (PRIOR, SINGLE, WITH_FEATURES, FEATURES_ONLY, *pools[0].proxies):
            note = ", ".join(f"{member} {weight:.2f}" for member, weight in weights[name].items())
            for statistic in STATISTICS:
                found = compare(lab, statistic, own, [weights[name]])
                lines.append(Finding(f"{name}: {statistic}", group, found, note="" if note == f"{name} 1.00" else note))
        best = max(pools[0].proxies, key=lambda name: np.mean([_spearman(pool, name) for pool in own]))
        for rival in (*SIZES, best):
            found = compare(lab, "Spearman", own, [weights[PRIOR], {rival: 1.0}])
            title = "the best of all proxies here" if rival == best else rival
            lines.append(Finding(f"{PRIOR} minus {title}: Spearman", group, found, note=rival))
            ahead[group, rival] = found is not None and found.value > 0
    spaces = [group for group in contenders if all(lead for (other, _), lead in ahead.items() if other == group)]
    return Findings(tuple(lines), (_counted(pools), _decision(list(contenders), spaces)))


def _spearman(pool: Pool, name: str) -> float:
    each = [spearman(pool.scores[name], truth) for truth in pool.truths.values()]
    return float(np.mean(np.nan_to_num(each)))


def _counted(pools: Sequence[Pool]) -> str:
    return "Networks: " + ", ".join(f"{len(pool)} of {pool.title}" for pool in pools) + "."


def _decision(groups: Sequence[str], ahead: Sequence[str]) -> str:
    if len(ahead) == len(groups):
        return "The prior is ahead of every single proxy, parameters and MACs on all spaces left out."
    return (
        "The prior is ahead of every single proxy, parameters and MACs on these spaces left out: "
        f"{', '.join(ahead) or 'none'}. So it is not the default criterion of a space."
    )


prior_spaces: Experiment = Experiment(
    "prior-spaces",
    (),
    "how well a prior that is fitted on other spaces ranks the networks of a space, beside every proxy",
    tuple(benchmark for benchmarks in BENCHMARKS.values() for benchmark in benchmarks),
    samples=100,
    run=_prior,
    remarks=(
        "Each figure is the mean over the tasks of a space; nDCG is over those that are measured as shares. Proxies "
        "are measured on smaller networks than those that were trained. At equal cost, parameters and "
        "multiply-accumulates are accounted for.",
        "The weights of a prior, and the best single proxy, are chosen on the other spaces. "
        f"The prior does without {', '.join(EXPENSIVE)}, which cost more than most others together.",
    ),
    skeletons=SKELETONS,
    source=SOURCE,
)
