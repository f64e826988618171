"""RoBoT (He et al., ICLR 2024), and other ways to use a few queries and the same proxies, on NAS-Bench-201.

Proxies of classes come with Firstlight; those of NAS-Bench-Suite-Zero are joined by class. Searches query the accuracy
after twelve epochs. Finished searches are kept in the folder of the experiment.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from firstlight.core.statistics import Numbers
from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import NB201_TEST
from firstlight.papers.class_study import NARROW, USUAL, FromClasses, KnownScores
from firstlight.papers.experiment import Experiment
from firstlight.papers.graf import SUITE_ZERO
from firstlight.papers.hnas_search import GROWING, Search, Searches, hnas_table3, looked_up
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.published import read_paper
from firstlight.proxies.ensembles import Criterion, Ensemble
from firstlight.search.measuring import Measuring, Twin
from firstlight.spaces import SPACES
from firstlight.tables.table import ARCHITECTURE

ROBOT = read_paper("robot")
# Columns of NAS-Bench-Suite-Zero by the name of the proxy
COLUMNS = {"jacov": "jacov", "naswot": "nwot"}
METRICS = "grad_norm+snip+grasp+fisher+synflow+jacov"
# Those with scores over orders of magnitude, none of them negative; SynFlow and Jacobian covariance are logarithms
LOGGED = "grad_norm+snip+fisher"
# What NAS-Bench-Suite-Zero writes where a proxy has no score
FAILED = -1e8
PRIOR = ("naswot", "synflow", "jacov")
OURS = "predictor"
# With more queries than the published ones, the predictor asks for several networks before it is fitted again
PUBLISHED_QUERIES, MORE_QUERIES = 20, (50, 100)
METHODS = {
    "RoBoT": f"robot:metrics={METRICS}:log={LOGGED}",
    "RoBoT, no logarithms": f"robot:metrics={METRICS}",
    "RoBoT, pool of 2,000": f"robot:metrics={METRICS}:log={LOGGED}:pool={GROWING}",
    OURS: f"predictor:by={'+'.join(PRIOR)}:pool={GROWING}",
    "best by the prior": f"verify:by=rank_mean({','.join(PRIOR)}):pool={GROWING}",
    "portfolio": f"portfolio:by={'+'.join(PRIOR)}:pool={GROWING}",
    "regularized evolution": "evolution",
    "random search": "random",
}


class JoinedScores(KnownScores):
    """The scores of classes, and those of NAS-Bench-Suite-Zero; ensembles of both."""

    def utilities(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> Numbers:
        """Return the utility of each network by a proxy or an ensemble."""
        if isinstance(by, Ensemble):
            each = [self.utilities(request, networks, batch_size, twin) for request in by.requests]
            by_member = np.nan_to_num(np.stack(each, axis=1), nan=-np.inf)
            return by.aggregate(by.shares(by_member))
        if str(by) not in COLUMNS:
            return super().utilities(by, networks, batch_size, twin)
        self.measured.update(networks)
        found: Numbers = suite_zero(self._known.lab)[COLUMNS[str(by)]].reindex(list(networks)).to_numpy(dtype=float)
        return found


@functools.cache
def _canonical_texts() -> dict[str, str]:
    """Return the canonical text of each cell of NAS-Bench-201."""
    space = SPACES[SUITE_ZERO.space]
    return {str(cell): str(space.canonical(cell)) for cell in space}


def suite_zero(lab: Lab) -> pd.DataFrame:
    """Return the mean scores of NAS-Bench-Suite-Zero of each class, by its canonical text."""
    frame = lab.data.table(SUITE_ZERO).frame
    frame = frame[frame["dataset"] == "cifar10"]
    canonical = frame[ARCHITECTURE].map(_canonical_texts())
    scores = frame[list(COLUMNS.values())].astype(float)
    return scores.where(scores != FAILED).groupby(canonical).mean()


class JoinedSearches(Searches):
    """Searches by both kinds of scores."""

    def measuring(self) -> Measuring:
        return JoinedScores(self.known, USUAL, self._kappa)


def methods_for(queries: int) -> dict[str, str]:
    """Return the text of each method for a number of queries."""
    together = f":together={queries // PUBLISHED_QUERIES}" if queries > PUBLISHED_QUERIES else ""
    return METHODS | {OURS: METHODS[OURS] + together} if OURS in METHODS else dict(METHODS)


def _robot(lab: Lab, queries: int) -> Findings:
    known = FromClasses.of(lab, USUAL, "twin")
    searches = JoinedSearches(known, known.kappa_parts[NARROW])
    methods = methods_for(queries) | {"HNAS, Trace": searches.hnas("Trace", f"pool={GROWING}")}
    found: dict[str, list[Search]] = {title: [] for title in methods}
    for seed in lab.seeds:
        for title, method in methods.items():
            found[title].append(searches.run(method, seed, queries))
            lab.progress(sum(map(len, found.values())), len(methods) * len(lab.seeds), title)
    published = {title: "RoBoT" for title in methods if title.startswith("RoBoT") and queries == PUBLISHED_QUERIES}
    lines = [*looked_up(lab, found, (ROBOT["nasbench201"],), published), *_against_the_first(lab, found)]
    return Findings(
        tuple(lines),
        (
            f"Each search queries {queries} networks, and chooses the best of these.",
            known.remark,
            *few_seeds_remark(lab),
        ),
    )


def _against_the_first(lab: Lab, found: Mapping[str, Sequence[Search]]) -> Iterator[Finding]:
    """Yield by how much the predictor differs from the best of the other methods, in pairs of the same seed."""
    others = {title: [search.chosen for search in searches] for title, searches in found.items() if title != OURS}
    if OURS not in found:
        return
    own = [search.chosen for search in found[OURS]]
    for benchmark in lab.data.available(NB201_TEST):
        lookup = Lookup(lab, benchmark)
        first = max(others, key=lambda title: float(np.mean([lookup.of(text) for text in others[title]])))
        yield lookup.difference(f"{OURS}, minus the best of the others ({first})", own, others[first])


REMARKS = (
    "RoBoT chooses among all classes, as published, and among pools of 2,000, as the others do. Pools are drawn anew "
    "for each seed; evolution and random search draw from the whole table.",
    f"Proxies: {METRICS.replace('+', ', ')}; the prior is {', '.join(PRIOR)}.",
)
robot_searches: Experiment = replace(
    hnas_table3,
    name="robot-searches",
    answers=(ROBOT["nasbench201"],),
    shows="what twenty queries find with RoBoT, with a predictor, and with simpler uses of proxies",
    run=functools.partial(_robot, queries=PUBLISHED_QUERIES),
    remarks=REMARKS,
    seeds=20,
)
robot_searches_50, robot_searches_100 = (
    replace(
        robot_searches,
        name=f"robot-searches-{queries}",
        shows=f"what {queries} queries find with RoBoT, with a predictor, and with simpler uses of proxies",
        run=functools.partial(_robot, queries=queries),
        remarks=(
            *REMARKS,
            f"Published searches have {PUBLISHED_QUERIES} queries. Here the predictor asks for "
            f"{queries // PUBLISHED_QUERIES} networks before it is fitted again.",
        ),
    )
    for queries in MORE_QUERIES
)
