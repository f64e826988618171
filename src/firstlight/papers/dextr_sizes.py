"""Dextr (Asthana et al., TMLR 2025): the size space of NATS-Bench."""

from __future__ import annotations

import numpy as np

from firstlight.core.seeds import python_generator
from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.papers.base import CORRELATION, Finding, Findings, Published
from firstlight.papers.benchmarks import SSS
from firstlight.papers.dextr_tables import BY_CODE, BY_PAPER, DEXTR, PUBLISHED_AS
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import RankTable, rows_of
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.measuring import Measuring

TABLE6, TABLE7 = DEXTR["table6"], DEXTR["table7"]
SPACE = SSS[0].space
BATCH = 32
ON_PARAMETERS = "number of parameters"
SIGNS = (
    "There is no table of trained networks, so the proxies are compared with the number of parameters, which the "
    "published accuracies increase with (correlations of 0.72 to 0.84). The published figure is the range of their "
    "sign, -1 to 0 or 0 to 1; -1 to 1 if the signs differ between data sets."
)
BATCHES = f"Proxies that look at several images see batches of {BATCH}; the paper does not print its batch size."
RANKED = RankTable(
    TABLE6,
    SSS,
    rows_of(
        {
            "#params": "params",
            "Fisher": "fisher",
            "Snip": "snip",
            "Grasp": "grasp",
            "Synflow": "synflow",
            "Grad_norm": "grad_norm",
            "NTK": "te_ntk",
            "Zen": "zen",
            "ZiCo": "zico",
            "MeCo": "meco",
            BY_CODE: "dextr:variant=official",
            BY_PAPER: "dextr",
        },
        PUBLISHED_AS,
    ),
    batch_sizes={SPACE: BATCH},
)
OPTIMIZED = RankTable(TABLE7, SSS, rows_of({"Dextr_opt": "dextr_opt"}), batch_sizes={SPACE: BATCH})


def sign_range(figures: tuple[Published | None, ...]) -> Published:
    """Return the range of correlations that have the sign of these figures."""
    known = [figure for figure in figures if figure is not None]
    low, high = (0.0 if all(f.low > 0 for f in known) else -1.0), (0.0 if all(f.high < 0 for f in known) else 1.0)
    return Published(known[0].source, low, high)


def _signs(lab: Lab) -> tuple[Finding, ...]:
    """Correlate every row with the number of parameters of random networks."""
    setting = lab.setting(SPACE)
    space, rng = setting.space, python_generator(lab.seeds[0], "networks of the size space")
    texts = list({str(space.sample(rng)): None for _ in range(2 * lab.samples)})[: lab.samples]
    params = np.array([space.cost(space.parse(text), setting.skeleton).params for text in texts], dtype=float)
    measuring = Measuring(setting, lab.executor, lab.store, lab.callback)
    found = []
    for table in (RANKED, OPTIMIZED):
        for row in table.rows[1:] if table is RANKED else table.rows:  # the first row is the number of parameters
            values: Numbers = measuring.utilities(ProxyRequest.parse(row.asks[0]), texts, BATCH)
            unscored = int(np.isnan(values).sum())
            note = f"{unscored} without a score rank last" if unscored else ""
            ours = lab.estimate(spearman, unscored_last(values), params)
            published = sign_range(table.table.rows[row.published])
            found.append(Finding(row.name, ON_PARAMETERS, ours, published, CORRELATION, note))
    return tuple(found)


def _table6(lab: Lab) -> Findings:
    if lab.data.available(SSS):
        return Findings(RANKED.lines(lab) + OPTIMIZED.lines(lab))
    with lab.executor.staying():
        return Findings(_signs(lab), (SIGNS,))


dextr_table6 = Experiment(
    "dextr-table6",
    (TABLE6, TABLE7),
    "how well proxies rank networks that differ in width only",
    SSS,
    samples=60,
    run=_table6,
    remarks=(BATCHES,),
    needs_tables=False,
)
