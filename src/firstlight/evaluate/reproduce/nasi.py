"""NASI (Shu et al., ICLR 2022): the trace of the tangent kernel and its estimate from one batch."""

from __future__ import annotations

import numpy as np

from firstlight.evaluate.reproduce.base import CORRELATION, Experiment, Finding, Findings, Published
from firstlight.evaluate.reproduce.benchmarks import NB201_C10, ONE_SHOT
from firstlight.evaluate.reproduce.groups import mean_of
from firstlight.evaluate.reproduce.lab import Lab, same_table
from firstlight.evaluate.reproduce.rank_rows import rank_table, row
from firstlight.evaluate.statistics import Numbers, pearson, spearman
from firstlight.report.charts import Line, lines

PAPER = "Shu2022nasi"
BATCH = 64
ESTIMATES = {"mean of gradients (Eq. 12)": "ntk_trace_batch", "sum over samples (Eq. 11)": "ntk_trace_batch:form=sum"}
# NB-1Shot1 S1, S2, S3
TABLE3 = (
    row("SNIP", "snip", -0.49, -0.62, -0.79),
    row("GraSP", "grasp", 0.41, 0.54, 0.17),
    row("SynFlow", "synflow", -0.52, -0.45, -0.53),
    row("NASWOT", "naswot", 0.21, 0.32, 0.54),
    row("NASI, without its condition", "ntk_trace_batch", None, None, None),
)
TABLE7 = {"ntk_trace_batch": (0.85, 0.91, 0.82), "ntk_trace_batch:form=sum": (0.88, 0.92, 0.87)}
BINS = 10


def _table3(lab: Lab) -> Findings:
    remark = "NASI's published row (.62, .74, .76) is of networks that meet a condition which is not in our records."
    return Findings(rank_table(lab, ONE_SHOT, TABLE3, "NASI Table 3"), (remark,))


def _table7(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        study = lab.study([benchmark], ["ntk_trace", *ESTIMATES.values()], batch_size=BATCH)
        utilities = study.utilities[0]
        exact = utilities["ntk_trace"] ** 2  # the trace divided by the number of samples
        for name, proxy in ESTIMATES.items():
            value = TABLE7[proxy][ONE_SHOT.index(benchmark)] if benchmark in ONE_SHOT else None
            published = Published.value("NASI Table 7", value)
            columns = (utilities[proxy], exact)
            for kind, statistic in (("Pearson", pearson), ("Spearman", spearman)):
                ours = lab.estimate(statistic, *columns, groups=study.groups)
                said = published if kind == "Pearson" else None
                found.append(Finding(f"{kind}: {name}", benchmark.name, ours, said, CORRELATION))
    remarks = (
        "The exact trace is that of the gradients of each sample's own logit over a batch; BatchNorm couples its "
        "samples. The published figures are of NB-1Shot1: .85, .91, .82 for the mean of gradients in S1, S2, S3, and "
        ".88, .92, .87 for the sum.",
        "Traces spread over orders of magnitude, so that Pearson's correlation hangs on the largest few.",
    )
    return Findings(tuple(found), remarks)


def _figure1(lab: Lab) -> Findings:
    found, charts = [], []
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        study = lab.study([benchmark], ["ntk_trace_batch"], batch_size=BATCH)
        accuracy = study.truth(lab.shelf.column(benchmark))
        error = 100 - accuracy * (100 if np.nanmax(accuracy) <= 1 else 1)  # fractions are understood too
        trace = study.utilities[0]["ntk_trace_batch"]
        ours = lab.estimate(spearman, trace, accuracy, groups=study.groups)
        found.append(Finding("Spearman: estimated trace and accuracy", benchmark.name, ours))
        binned = bins(trace, error)
        points = [(number + 1.0, float(rows.mean())) for number, rows in enumerate(binned)]
        for number, rows in enumerate(binned, start=1):
            name = f"mean error, %, in bin {number} of {len(binned)} by trace"
            found.append(mean_of(lab, name, benchmark.name, rows.tolist()))
        title = f"Error against the estimated trace, {benchmark.name}"
        chart = lines([Line(benchmark.name, points)], "bin of networks, by trace", "mean error, %")
        charts.append((title, str(chart)))
    remarks = (
        "Our records have no copy of this plot: neither its figures nor its settings.",
        "Bins hold equal numbers of networks, lowest trace first.",
    )
    return Findings(tuple(found), remarks, tuple(charts))


def bins(trace: Numbers, error: Numbers) -> list[Numbers]:
    """The errors of networks in order of their trace, in as many equal parts as have ten networks each, ten at most."""
    known = np.isfinite(trace) & np.isfinite(error)
    order = np.argsort(trace[known], kind="stable")
    parts = max(1, min(BINS, len(order) // 10))
    return [error[known][rows] for rows in np.array_split(order, parts)]


nasi_table3 = Experiment(
    "nasi-table3", "NASI Table 3", PAPER, "how well NASI and four other proxies rank networks", ONE_SHOT, 100, _table3
)
nasi_table7 = Experiment(
    "nasi-table7",
    "NASI Table 7",
    PAPER,
    "how close the estimate from one batch comes to the exact trace",
    (*ONE_SHOT, NB201_C10),
    samples=30,
    run=_table7,
)
nasi_figure1 = Experiment(
    "nasi-figure1",
    "NASI Figure 1",
    PAPER,
    "test error against the estimated trace, in bins of networks",
    (*ONE_SHOT, NB201_C10),
    samples=100,
    run=_figure1,
)
