"""HNAS (Shu et al., NeurIPS 2022): budgets, values of metrics, and what the search learns, as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from firstlight.core.statistics import Estimate, Numbers, spearman
from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import NB201_C10, NB201_TEST
from firstlight.papers.class_study import USUAL, FromClasses
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas import ABSOLUTE, BATCHES, HNAS, hnas_table1
from firstlight.papers.hnas_bounds import KAPPA, METRICS, PROXY_OF, size_of
from firstlight.papers.hnas_search import (
    KAPPAS,
    ON_POOLS,
    ON_SCALE,
    POOLS,
    Search,
    Searches,
    hnas_table3,
    searches_of,
)
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, in_percent
from firstlight.search.bounds import Bound, Candidates, bound_of
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

BUDGET = 50
# The numbers of queries that findings are of
BUDGETS = (5, 10, 20, 50)
BINS = 20
METHODS = {"random search": "random", "regularized evolution": "evolution", "REINFORCE": "reinforce"}
TRACE = "HNAS, Trace"


def _figure2(lab: Lab) -> Findings:
    searches = searches_of(lab)
    methods = {
        TRACE: searches.hnas("Trace", POOLS["growing pool"]),
        "best by Trace": f"verify:by={PROXY_OF['Trace']}:pool=2000",
        **METHODS,
    }
    found = {title: [searches.run(method, seed, BUDGET) for seed in lab.seeds] for title, method in methods.items()}
    lines, charts = list[Finding](), list[tuple[str, str]]()
    for benchmark in lab.data.available(NB201_TEST):
        lookup = Lookup(lab, benchmark, errors=True)
        for title, runs in found.items():
            for budget in BUDGETS:
                chosen = [best_so_far(run, budget) for run in runs]
                lines.append(lookup.mean(f"{title}, {budget} queries", chosen))
        charts.append((f"Test error on {benchmark.name} by the number of queries", _curves(lookup, found)))
    return Findings(tuple(lines), (searches.known.remark,), tuple(charts))


def best_so_far(search: Search, queries: int) -> str:
    """Return the network with the highest reached value among the first queries."""
    return max(search.answers[:queries], key=lambda answer: answer.reached).architecture


def _curves(lookup: Lookup, found: Mapping[str, Sequence[Search]]) -> str:
    lines = []
    for title, runs in found.items():
        longest = max(len(run.answers) for run in runs)
        means = [np.mean([lookup.of(best_so_far(run, count)) for run in runs]) for count in range(1, longest + 1)]
        lines.append(Line(title, [(float(count), float(mean)) for count, mean in enumerate(means, start=1)]))
    return str(draw_svg(Lines("queries", "test error, %, mean over searches", lines)))


def _figure4(lab: Lab) -> Findings:
    known = FromClasses.of(lab, USUAL)
    lines, charts = list[Finding](), list[tuple[str, str]]()
    for kappa_title, part in known.kappa_parts.items():
        found = known.study([NB201_C10], known.columns(USUAL, part))
        error = 100 - in_percent(found.truth(lab.data.column(NB201_C10)))
        kappa = -found.utilities[0][KAPPA]
        errors, relations = list[Line](), list[Line]()
        for metric in METRICS:
            bins = binned(size_of(found.utilities[0][PROXY_OF[metric]]), kappa)
            means = [float(error[rows].mean()) for rows in bins]
            within = [spearman(kappa[rows], error[rows]) for rows in bins]
            errors.append(Line(metric, [(float(number), mean) for number, mean in enumerate(means, start=1)]))
            defined = [(float(n), value) for n, value in enumerate(within, start=1) if np.isfinite(value)]
            relations.append(Line(metric, defined))
            lines += _of_bins(lab, metric, kappa_title, means, within)
        if not charts:
            charts.append((f"Mean test error within {BINS} bins of M", _chart(errors, "test error, %")))
        charts.append(
            (f"Correlation with test error within bins, {kappa_title}", _chart(relations, "Spearman correlation"))
        )
    return Findings(tuple(dict.fromkeys(lines)), (known.remark,), tuple(charts))


def binned(m: Numbers, kappa: Numbers) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the rows of bins of equal size, from the lowest M to the highest, without networks that lack a value."""
    usable = np.flatnonzero(np.isfinite(m) & np.isfinite(kappa))
    return list(np.array_split(usable[np.argsort(m[usable], kind="stable")], BINS))


def _of_bins(lab: Lab, metric: str, kappa: str, means: Sequence[float], within: Sequence[float]) -> Iterator[Finding]:
    best = int(np.argmin(means)) + 1
    yield _exact(f"{metric}: the bin of the lowest mean error, of {BINS}", best)
    yield _exact(f"{metric}: mean error in that bin minus that in the last bin", means[best - 1] - means[-1])
    values = np.array(within)
    ours = lab.estimate(lambda column: float(np.mean(column)), values)
    yield Finding(f"{metric}: correlation of {kappa} with error within bins, mean", NB201_C10.name, ours, None)


def _exact(what: str, value: float) -> Finding:
    return Finding(what, NB201_C10.name, Estimate(value, value, value), note="of all networks")


def _chart(lines: Sequence[Line], y: str) -> str:
    return str(draw_svg(Lines("bin of M, from low to high", y, list(lines))))


def _figure5(lab: Lab) -> Findings:
    searches = searches_of(lab)
    known, lines, curves = searches.known, list[Finding](), list[Line]()
    for form in ("paper", "official", "rank"):
        method = searches.hnas("Trace", POOLS["growing pool"], form)
        scale = float(method.partition("scale=")[2])
        bound, candidates, accuracy = bound_of(form, scale), *_all_classes(lab, searches)
        evolution = np.array([along(searches.run(method, seed), bound, candidates, accuracy) for seed in lab.seeds])
        curves.append(Line(f"form={form}", [(float(n), float(v)) for n, v in enumerate(evolution.mean(0), start=1)]))
        for count in sorted({1, 5, 10, evolution.shape[1]}):
            if count > evolution.shape[1]:
                break
            ours = lab.estimate(lambda column: float(np.mean(column)), evolution[:, count - 1])
            lines.append(Finding(f"form={form}: correlation after {count} queries", NB201_C10.name, ours))
        last = lab.estimate(lambda column: float(np.mean(column)), evolution[:, -1] - evolution[:, 0])
        lines.append(Finding(f"form={form}: last minus first", NB201_C10.name, last))
    chart = str(draw_svg(Lines("queries", "Spearman correlation with test accuracy", curves)))
    return Findings(tuple(lines), (known.remark,), (("The bound of the best pair so far", chart),))


def _all_classes(lab: Lab, searches: Searches) -> tuple[Candidates, Numbers]:
    """Return all measured classes with a signal, and their test accuracies."""
    known, texts, lookup = searches.known, searches.truth.networks, Lookup(lab, NB201_C10)
    m = size_of(known.utilities(USUAL, PROXY_OF["Trace"], texts))
    kappa = -known.utilities("twin", KAPPA, texts)
    places = np.flatnonzero(np.isfinite(m) & (m > 0) & np.isfinite(kappa) & (kappa > 0))
    chosen = [texts[place] for place in places]
    return Candidates(chosen, m[places], kappa[places]), np.array([lookup.of(text) for text in chosen])


def along(search: Search, bound: Bound, candidates: Candidates, accuracy: Numbers) -> list[float]:
    """Return the correlation of the bound with accuracy after each query, for the best pair of parameters so far."""
    found = []
    for count in range(1, len(search.answers) + 1):
        best = max(search.answers[:count], key=lambda answer: answer.reached)
        assert best.u is not None
        assert best.exponent is not None
        found.append(spearman(-bound.values(candidates, best.u, best.exponent), accuracy))
    return found


hnas_figure2: Experiment = replace(
    hnas_table3,
    name="hnas-figure2",
    answers=(HNAS["figure2"],),
    shows="the error of the network found by the number of queries",
    run=_figure2,
    remarks=(
        ON_POOLS,
        ON_SCALE,
        KAPPAS,
        BATCHES,
        "`best by Trace` queries the networks of highest M in a pool of 2,000, which the paper calls zero-cost.",
    ),
)
hnas_figure4: Experiment = replace(
    hnas_table1,
    name="hnas-figure4",
    answers=(HNAS["figure4"],),
    shows="test error by the value of a metric, and what kappa adds to networks of similar value",
    needs=(NB201_C10,),
    run=_figure4,
    remarks=(
        ABSOLUTE,
        BATCHES,
        f"Each of the {BINS} bins has as many networks; networks without a kappa are left out.",
    ),
)
hnas_figure5: Experiment = replace(
    hnas_figure2,
    name="hnas-figure5",
    answers=(HNAS["figure5"],),
    shows="how the bound of the best parameters so far correlates with accuracy, by the number of queries",
    needs=(NB201_C10,),
    run=_figure5,
    remarks=(ON_POOLS, ON_SCALE, KAPPAS, BATCHES),
)
