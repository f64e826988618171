"""SiGeo (Zheng et al., 2023): rank correlations without a warm-up."""

from __future__ import annotations

from firstlight.papers.benchmarks import NB101, NB201_TEST, NB301
from firstlight.papers.experiment import Experiment
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import RankTable, rows_of

SIGEO = read_paper("sigeo")
BY_PAPER, BY_CODE = "SiGeo, as in the paper", "SiGeo, published code"
PUBLISHED_AS = dict.fromkeys((BY_PAPER, BY_CODE), "SiGeo")
REMARKS = (
    "Accuracies of NB201 are test accuracies, as in the paper. Those of NB101 and NB301 are validation accuracies, "
    "because the tables have no others.",
    "Networks are shown the same images for every data set, and have as many classes as these images. The paper shows "
    "them images of each data set.",
)
TABLE2 = RankTable(
    SIGEO["table2"],
    (NB101, *NB201_TEST, NB301),
    rows_of(
        {
            "EPE-NAS": "epe_nas",
            "Fisher": "fisher",
            "FLOPs": "macs",
            "Grad-norm": "grad_norm",
            "GraSP": "grasp",
            "Jacov": "jacov",
            "L2": "l2_norm",
            "NASWOT": "naswot",
            "#params": "params",
            "Plain": "plain",
            "SNIP": "snip",
            "SynFlow": "synflow",
            "Zen": "zen",
            "ZiCo": "zico",
            BY_CODE: "sigeo:variant=official-cv",
            BY_PAPER: "sigeo",
        },
        PUBLISHED_AS,
    ),
    kendall=SIGEO["table2_kendall"],
)

sigeo_table2 = Experiment(
    "sigeo-table2",
    (TABLE2.table,),
    "how well SiGeo without a warm-up and fourteen other proxies rank networks",
    TABLE2.benchmarks,
    samples=40,
    run=TABLE2,
    remarks=REMARKS,
)
