"""SiGeo (Zheng et al., 2023): rank correlations without warm-up."""

from __future__ import annotations

from firstlight.papers.base import Experiment, Findings
from firstlight.papers.benchmarks import NB101, NB201_VALIDATED, NB301
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import rank_table, row

# NB101; NB201 CIFAR-10, CIFAR-100, ImageNet16-120; NB301
TABLE2 = (
    row("EPE-NAS", "epe_nas", 0.00, 0.70, 0.60, 0.33, 0.00),
    row("Fisher", "fisher", -0.28, 0.50, 0.54, 0.48, -0.28),
    row("FLOPs", "macs", 0.36, 0.69, 0.71, 0.67, 0.42),
    row("Grad-norm", "grad_norm", -0.25, 0.58, 0.63, 0.57, -0.04),
    row("GraSP", "grasp", 0.27, 0.51, 0.54, 0.55, 0.34),
    row("Jacov", "jacov", -0.29, 0.75, 0.71, 0.71, -0.04),
    row("L2", "l2_norm", 0.50, 0.68, 0.72, 0.69, 0.45),
    row("NASWOT", "naswot", 0.31, 0.77, 0.80, 0.77, 0.47),
    row("#params", "params", 0.37, 0.72, 0.73, 0.69, 0.46),
    row("Plain", "plain", -0.32, -0.26, -0.21, -0.22, -0.32),
    row("SNIP", "snip", -0.19, 0.58, 0.63, 0.57, -0.05),
    row("SynFlow", "synflow", 0.31, 0.73, 0.76, 0.75, 0.18),
    row("Zen", "zen", 0.59, 0.35, 0.35, 0.39, 0.43),
    row("ZiCo", "zico", 0.63, 0.74, 0.78, 0.79, 0.50),
    row("SiGeo, published code", "sigeo:variant=official-cv", 0.63, 0.78, 0.82, 0.80, 0.50),
    row("SiGeo, as in the paper", "sigeo", 0.63, 0.78, 0.82, 0.80, 0.50),
)
TABLE2_ON = (NB101, *NB201_VALIDATED, NB301)
REMARKS = (
    "The paper compares with validation accuracies. NB201 CIFAR-10 does too; for CIFAR-100 and ImageNet16-120, of "
    "which few tables have the validation accuracies of all networks, test accuracies are taken.",
    "The networks are shown the same images whatever data set they were trained on, and have as many classes as these "
    "images; the paper shows them images of each data set.",
)


def _table2(lab: Lab) -> Findings:
    return Findings(rank_table(lab, TABLE2_ON, TABLE2, "SiGeo Table 2"), REMARKS)


sigeo_table2 = Experiment(
    "sigeo-table2",
    "SiGeo Table 2",
    "Zheng2023sigeo",
    "how well SiGeo without warm-up and fourteen other proxies rank networks",
    TABLE2_ON,
    samples=40,
    run=_table2,
)
