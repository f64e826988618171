"""Dextr (Asthana et al., TMLR 2025): scores and accuracies of single networks."""

from __future__ import annotations

import numpy as np

from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.papers.base import ACCURACY, CORRELATION, Finding, Findings
from firstlight.papers.benchmarks import NB201_C10, NB201_SHORT
from firstlight.papers.dextr_tables import BY_PAPER, DEXTR, TABLE1, TABLE1_ON
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import RankRow, correlation
from firstlight.views.charts.description import Point, Scatter
from firstlight.views.charts.svg import draw_svg

# The linear independence S above which the paper expects fast training
HIGH = 25.0
ROW = RankRow(BY_PAPER, ("dextr",), "Dextr")
SHORT = (
    "Speed of training is the validation accuracy after 12 epochs, which the table holds for every network. The paper "
    "draws the training loss of six networks."
)


def chart(x: Numbers, y: Numbers, x_label: str, y_label: str) -> str:
    """Draw a dot for each network with a score."""
    points = [Point(float(a), float(b)) for a, b in zip(x, y, strict=True) if np.isfinite(a) and np.isfinite(b)]
    return str(draw_svg(Scatter(x_label, y_label, points))) if points else ""


def _figure1a(lab: Lab) -> Findings:
    lines: list[Finding] = []
    charts = []
    for group in lab.data.by_table((NB201_C10, NB201_SHORT)):
        found = lab.study(group, ["independence"])
        s = np.expm1(found.utilities[0]["independence"])
        for benchmark in group:
            truth = found.truth(lab.data.column(benchmark))
            ours = lab.estimate(spearman, unscored_last(s), truth, groups=found.groups)
            lines.append(Finding("correlation of S", benchmark.name, ours, None, CORRELATION))
            for title, chosen in ((f"S above {HIGH:g}", s > HIGH), (f"S up to {HIGH:g}", s <= HIGH)):
                mean = lab.estimate(lambda column: float(column.mean()), truth[chosen], groups=found.groups[chosen])
                note = f"{int(chosen.sum())} networks"
                lines.append(Finding(f"accuracy, %, {title}", benchmark.name, mean, None, ACCURACY, note))
            charts.append((f"S and accuracy: {benchmark.name}", chart(s, truth, "S", "accuracy, %")))
    return Findings(tuple(lines), (), tuple(charts))


def _figure5(lab: Lab) -> Findings:
    lines: list[Finding] = []
    charts = []
    for group in lab.data.by_table(TABLE1_ON):
        found = lab.study(group, ROW.asks)
        scores = found.utilities[0]["dextr"]
        for benchmark in group:
            published = TABLE1.table.at(ROW.published, benchmark.name)
            lines.append(correlation(lab, found, benchmark, ROW, published))
            truth = found.truth(lab.data.column(benchmark))
            charts.append((f"Dextr and accuracy: {benchmark.name}", chart(scores, truth, "Dextr", "accuracy")))
    return Findings(tuple(lines), (), tuple(charts))


dextr_figure1a = Experiment(
    "dextr-figure1a",
    (DEXTR["figure1a"],),
    "linear independence of feature maps against accuracy and speed of training",
    (NB201_C10, NB201_SHORT),
    samples=100,
    run=_figure1a,
    remarks=(SHORT,),
)
dextr_figure5 = Experiment(
    "dextr-figure5",
    (DEXTR["figure5"],),
    "Dextr against accuracy, network by network",
    TABLE1_ON,
    samples=60,
    run=_figure5,
    remarks=("Networks are those of dextr-table1 with as many samples.",),
    chosen="first",
)
