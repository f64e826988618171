"""Dextr (Asthana et al., TMLR 2025): rank correlations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstlight.core.statistics import Numbers
from firstlight.papers.benchmarks import NB101, NB201_TEST, NB301, TRANSNAS
from firstlight.papers.experiment import Experiment
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import Known, RankRow, RankTable, Utilities, rows_of

DEXTR = read_paper("dextr")
BY_CODE, BY_PAPER = "Dextr, published code", "Dextr, as in the paper"
PUBLISHED_AS = dict.fromkeys((BY_CODE, BY_PAPER), "Dextr")
SAME_IMAGES = (
    "Networks are shown the same images for every data set, and have as many classes as these images. The paper shows "
    "them images of each data set."
)
ON_HALF = (
    "NB201 CIFAR-10 is the test accuracy after training on all training images. The paper compares with the accuracy "
    "after training on half of them."
)
FEWER = (
    "Networks of NB101, NB301 and TransNAS cost more than those of NB201, so a third as many are taken. Proxies that "
    "cost more (all but Dextr, MeCo and #params) are measured on a third of these networks, with the first seed, on "
    "batches of 32 images on NB201 and of 16 elsewhere; the paper takes batches of 64 and 32. Several seeds are used "
    "on NB201 and, except for Dextr of the published code, NB101. The remarks of each line say how many networks there "
    "are, if fewer than asked for."
)
TRANSNAS_REMARK = (
    "Networks of TransNAS are shown noise of 64x64 pixels (for Jigsaw, nine tiles of that size), because the "
    "photographs of the benchmark are not available here, and those for Jigsaw have 32 channels instead of 64. Dextr "
    "as in the paper is ln(1 + S) there, because the output of these networks does not move. Networks of NB301 have 16 "
    "channels; those of the paper have 32."
)
TABLE1_ON = (
    *(replace(benchmark, cost_factor=3) for benchmark in (*TRANSNAS, NB101)),
    *NB201_TEST,
    replace(NB301, cost_factor=3),
)


def harmonic_mean(utilities: Utilities, _known: Known) -> Numbers:
    """Return the harmonic mean of Zen and ZiCo where both are positive, NaN elsewhere."""
    zen, zico = utilities["zen"], utilities["zico"]
    positive = (zen > 0) & (zico > 0)
    mean: Numbers = np.where(positive, 2 * zen * zico / np.where(positive, zen + zico, 1), np.nan)
    return mean


CHEAP = {BY_PAPER: "dextr", BY_CODE: "dextr:variant=official", "MeCo": "meco", "#params": "params"}
EXPENSIVE = {
    "Grasp": "grasp",
    "Fisher": "fisher",
    "Grad_norm": "grad_norm",
    "Snip": "snip",
    "Synflow": "synflow",
    "ZiCo": "zico",
    "SWAP_reg": "swap_reg",
}
TABLE1 = RankTable(
    DEXTR["table1"],
    TABLE1_ON,
    (*rows_of(CHEAP, PUBLISHED_AS), *rows_of(EXPENSIVE, cost_factor=3)),
    expensive_sizes=dict.fromkeys((TRANSNAS[0].space, NB101.space, NB301.space), 16) | {NB201_TEST[0].space: 32},
    once={TRANSNAS[0].space: tuple(CHEAP), NB301.space: tuple(CHEAP), NB101.space: (BY_CODE,)},
)
TABLE4 = RankTable(
    DEXTR["table4"],
    NB201_TEST,
    (
        *rows_of(
            {
                "ln(1 + S)": "independence",
                "ln(1 + k)": "curvature",
                BY_CODE: "dextr:variant=official",
                BY_PAPER: "dextr",
                "Zen": "zen",
                "ZiCo": "zico",
            },
            PUBLISHED_AS,
        ),
        RankRow("HM(Zen, ZiCo)", ("zen", "zico"), "HM(Zen, ZiCo)", harmonic_mean),
    ),
)

dextr_table1 = Experiment(
    "dextr-table1",
    (TABLE1.table,),
    "how well Dextr and nine other proxies rank networks",
    TABLE1.benchmarks,
    samples=60,
    run=TABLE1,
    remarks=(ON_HALF, SAME_IMAGES, FEWER, TRANSNAS_REMARK),
    chosen="first",
)
dextr_table4 = Experiment(
    "dextr-table4",
    (TABLE4.table,),
    "the two terms of Dextr alone, and Zen and ZiCo combined in the same way",
    TABLE4.benchmarks,
    samples=100,
    run=TABLE4,
    remarks=(ON_HALF, SAME_IMAGES),
    chosen="first",
)
