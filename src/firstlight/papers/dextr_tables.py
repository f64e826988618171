"""Dextr (Asthana et al., TMLR 2025): rank correlations."""

from __future__ import annotations

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
BATCHES = (
    "Batches hold 64 images on NB201 and 32 elsewhere, as in the paper's code. Elsewhere, that code takes the "
    "BatchNorm statistics of Dextr and MeCo from all 32 images, and Dextr's curve at the size of the images. Here, "
    "both use one image, and the curve has twice the size."
)


def harmonic_mean(utilities: Utilities, _known: Known) -> Numbers:
    """Return the harmonic mean of Zen and ZiCo where both are positive, NaN elsewhere."""
    zen, zico = utilities["zen"], utilities["zico"]
    positive = (zen > 0) & (zico > 0)
    mean: Numbers = np.where(positive, 2 * zen * zico / np.where(positive, zen + zico, 1), np.nan)
    return mean


TABLE1 = RankTable(
    DEXTR["table1"],
    (*TRANSNAS, NB101, *NB201_TEST, NB301),
    rows_of(
        {
            "Grasp": "grasp",
            "Fisher": "fisher",
            "Grad_norm": "grad_norm",
            "Snip": "snip",
            "Synflow": "synflow",
            "#params": "params",
            "ZiCo": "zico",
            "MeCo": "meco",
            "SWAP_reg": "swap_reg",
            BY_CODE: "dextr:variant=official",
            BY_PAPER: "dextr",
        },
        PUBLISHED_AS,
    ),
    # The paper uses NASLib everywhere but on NB201
    batch_sizes=dict.fromkeys((TRANSNAS[0].space, NB101.space, NB301.space), 32),
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
    remarks=(ON_HALF, SAME_IMAGES, BATCHES),
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
