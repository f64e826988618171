"""Dextr (Asthana et al., TMLR 2025): rank correlations."""

from __future__ import annotations

import numpy as np

from firstlight.core.statistics import Numbers
from firstlight.papers.base import Experiment, Findings
from firstlight.papers.benchmarks import NB101, NB201_TEST, NB301, TRANSNAS
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import Known, RankRow, Utilities, rank_table, row

PAPER = "Asthana2025dextr"
SAME_IMAGES = (
    "The networks are shown the same images whatever data set they were trained on, and have as many classes as these "
    "images; the paper shows them images of each data set."
)
ON_HALF = (
    "NB201 CIFAR-10 is the test accuracy after training on all training images; the paper compares with that after "
    "training on half of them."
)

# TransNAS Object, Scene, Jigsaw; NB101; NB201 CIFAR-10, CIFAR-100, ImageNet16-120; NB301
TABLE1 = (
    row("Grasp", "grasp", -0.22, -0.43, -0.12, 0.27, 0.39, 0.46, 0.45, 0.34),
    row("Fisher", "fisher", 0.44, -0.13, 0.30, -0.28, 0.40, 0.46, 0.42, -0.28),
    row("Grad_norm", "grad_norm", 0.39, -0.33, 0.36, -0.24, 0.42, 0.49, 0.47, -0.04),
    row("Snip", "snip", 0.45, -0.14, 0.41, -0.19, 0.43, 0.49, 0.48, -0.05),
    row("Synflow", "synflow", 0.48, 0.27, 0.47, 0.31, 0.74, 0.76, 0.75, 0.18),
    row("#params", "params", 0.45, 0.32, 0.44, 0.38, 0.72, 0.73, 0.69, 0.46),
    row("ZiCo", "zico", 0.50, 0.70, 0.52, 0.41, 0.76, 0.79, 0.77, 0.49),
    row("MeCo", "meco", 0.58, 0.62, 0.45, 0.57, 0.89, 0.88, 0.85, 0.43),
    row("SWAP_reg", "swap_reg", 0.48, 0.67, 0.47, 0.49, 0.88, 0.90, 0.87, 0.49),
    row("Dextr, published code", "dextr:variant=official", 0.53, 0.75, 0.55, 0.65, 0.90, 0.91, 0.87, 0.44),
    row("Dextr, as in the paper", "dextr", 0.53, 0.75, 0.55, 0.65, 0.90, 0.91, 0.87, 0.44),
)
TABLE1_ON = (*TRANSNAS, NB101, *NB201_TEST, NB301)
# The paper's runs by NASLib, which are all but those on NB201
NASLIB_BATCHES = dict.fromkeys((TRANSNAS[0].space, NB101.space, NB301.space), 32)


def harmonic_mean(utilities: Utilities, _known: Known) -> Numbers:
    """Of Zen and ZiCo, where both are positive; elsewhere it means nothing."""
    zen, zico = utilities["zen"], utilities["zico"]
    positive = (zen > 0) & (zico > 0)
    mean: Numbers = np.where(positive, 2 * zen * zico / np.where(positive, zen + zico, 1), np.nan)
    return mean


TABLE4 = (
    row("ln(1 + S)", "independence", 0.88, 0.89, 0.85),
    row("ln(1 + k)", "curvature", 0.51, 0.49, 0.51),
    row("Dextr, published code", "dextr:variant=official", 0.90, 0.91, 0.87),
    row("Dextr, as in the paper", "dextr", 0.90, 0.91, 0.87),
    row("Zen", "zen", 0.33, 0.34, 0.38),
    row("ZiCo", "zico", 0.76, 0.79, 0.77),
    RankRow("HM(Zen, ZiCo)", ("zen", "zico"), (0.44, 0.44, 0.47), harmonic_mean),
)


def _table1(lab: Lab) -> Findings:
    remarks = (
        ON_HALF,
        SAME_IMAGES,
        "SWAP_reg has no preferred size here: the paper's is not in our records.",
        "Batches hold 64 images on NB201 and, as in the paper's code, 32 elsewhere. There that code takes BatchNorm's "
        "statistics for Dextr and MeCo from all 32, and Dextr's curve at the images' own size; here both look at one "
        "image, and the curve is of twice the size.",
    )
    return Findings(rank_table(lab, TABLE1_ON, TABLE1, "Dextr Table 1", NASLIB_BATCHES), remarks)


def _table4(lab: Lab) -> Findings:
    return Findings(rank_table(lab, NB201_TEST, TABLE4, "Dextr Table 4"), (ON_HALF, SAME_IMAGES))


dextr_table1 = Experiment(
    "dextr-table1",
    "Dextr Table 1",
    PAPER,
    "how well Dextr and nine other proxies rank networks",
    TABLE1_ON,
    samples=60,
    run=_table1,
    chosen="first",
)
dextr_table4 = Experiment(
    "dextr-table4",
    "Dextr Table 4",
    PAPER,
    "the two terms of Dextr alone, and Zen and ZiCo combined in its way",
    NB201_TEST,
    samples=100,
    run=_table4,
    chosen="first",
)
