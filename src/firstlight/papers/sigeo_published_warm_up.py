"""SiGeo (Zheng et al., 2023): its terms after the warm-up of the published code, paired over networks and seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import Known, RankRow, correlation
from firstlight.papers.sigeo import BY_CODE, BY_PAPER
from firstlight.papers.sigeo_warm import (
    BY_LOSS_RANK,
    BY_RANKS,
    PARAMS,
    T1,
    ZICO,
    Level,
    sigeo_ablation,
    studied,
)

BY_WEIGHTS = "SiGeo, as in the paper, T2 over weights"
ROWS = {
    ZICO: "zico",
    T1: "zico:batches=4",
    "T2: Fisher-Rao norm": "fr_norm",
    "T2 over weights": "fr_norm:parameters=weights",
    "T2, published code": "sigeo:lambda1=0:lambda2=1:lambda3=0:variant=official-cv",
    "T3: -loss": "loss",
    BY_PAPER: "sigeo",
    BY_WEIGHTS: "sigeo:parameters=weights",
    BY_CODE: "sigeo:variant=official-cv",
    BY_RANKS: "sigeo_rank",
    BY_LOSS_RANK: "sigeo_loss_rank",
    PARAMS: "params",
}
# What is compared with what, on the same networks and seeds
COMPARED = (T1, ZICO)
# Ten passes over 4,000 and over all 10,000 images are 320 and 790 steps; the published code takes 470 to 1,880
WARM_UPS = ("0", "40%:recipe=official", "100%:recipe=official")


def _published_warm_up(lab: Lab) -> Findings:
    levels = studied(lab, [NB201_C10], ROWS)
    truth, lines = levels[0].found.truth(lab.data.column(NB201_C10)), list[Finding]()
    for level in levels:
        on, by_name = f"{NB201_C10.name}, {level.title}", {row.name: row for row in level.rows}
        for row in level.rows:
            lines.append(replace(correlation(lab, level.found, NB201_C10, row, None), on=on))
        for base in COMPARED:
            for row in level.rows:
                if row.name not in COMPARED:
                    lines.append(gain(lab, level, row, by_name[base], truth, on))
    return Findings(tuple(lines))


def gain(lab: Lab, level: Level, row: RankRow, base: RankRow, truth: Numbers, on: str) -> Finding:
    """Return by how much a row correlates better than another one: the mean over seeds, paired over networks."""
    first, second = columns_of(level, row, truth), columns_of(level, base, truth)
    seeds = len(first)

    def lead(*columns: Numbers) -> float:
        ours, theirs, reached = columns[:seeds], columns[seeds:-1], columns[-1]
        pairs = zip(ours, theirs, strict=True)
        return float(np.mean([spearman(one, reached) - spearman(other, reached) for one, other in pairs]))

    ours = lab.estimate(lead, *first, *second, truth, groups=level.found.groups)
    return Finding(f"{row.name}: gain over {base.name}", on, ours, note=f"mean over {seeds} seeds")


def columns_of(level: Level, row: RankRow, truth: Numbers) -> list[Numbers]:
    """Return the values of a row, one column for each seed. Networks without a score rank last."""
    pairs = zip(level.found.seeds, level.found.utilities, strict=True)
    return [unscored_last(row.values(found, Known(truth, level.found.groups, seed))) for seed, found in pairs]


sigeo_published_warm_up: Experiment = replace(
    sigeo_ablation,
    name="sigeo-published-warm-up",
    shows="SiGeo and its terms after the warm-up of the published code, with gains over ZiCo's formula",
    samples=100,
    run=_published_warm_up,
    remarks=(
        *sigeo_ablation.remarks[:1],
        "The warm-up is that of the published code: ten passes over a share of our training images at a learning rate "
        "of 1, without momentum. 40 % of 10,000 images are 320 steps, and all of them 790; the published code takes "
        "ten passes over 6,000 to 24,000 images, which are 470 to 1,880 steps.",
        "T2 is over all parameters, as in the paper, over weights, and that of the published code. Gains are "
        "differences of Spearman correlations on the same networks, means over seeds. Intervals resample networks.",
    ),
    seeds=3,
    warm_ups=WARM_UPS,
)
