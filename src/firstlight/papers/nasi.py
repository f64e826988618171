"""NASI (Shu et al., ICLR 2022): the trace of the tangent kernel and its estimate from one batch.

What a search by it finds is in `nasi_search.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from firstlight.core.statistics import Numbers, pearson, spearman
from firstlight.data.inputs import CIRCLE, RANDOM_LABELS, SYNTHETIC
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Experiment, Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_C10, ONE_SHOT, Benchmark
from firstlight.papers.groups import mean_of
from firstlight.papers.lab import Lab, same_table
from firstlight.papers.lookup import in_percent
from firstlight.papers.rank_rows import over_seeds, rank_table, row
from firstlight.proxies import PROXIES
from firstlight.spaces.nasbench1shot1.supernet import Skeleton1Shot1
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

PAPER = "Shu2022nasi"
BATCH = 64
ESTIMATE = "ntk_trace_batch"
EXACT = "ntk_trace_exact"
ESTIMATES = {"mean of gradients (Eq. 12)": ESTIMATE, "sum over samples (Eq. 11)": "ntk_trace_batch:form=sum"}
# NB-1Shot1 S1, S2, S3
TABLE3 = (
    row("SNIP", "snip", -0.49, -0.62, -0.79),
    row("GraSP", "grasp", 0.41, 0.54, 0.17),
    row("SynFlow", "synflow", -0.52, -0.45, -0.53),
    row("NASWOT", "naswot", 0.21, 0.32, 0.54),
    row("NASI, without its condition", "ntk_trace_batch", None, None, None),
)
# The records do not say which of its figures is of which space
RANDOM_LABELS_TITLE, RANDOM_DATA_TITLE = "random labels", "random data"
TABLE6 = {
    RANDOM_LABELS_TITLE: Published("NASI Table 6", 1.00, 1.00),
    RANDOM_DATA_TITLE: Published("NASI Table 6", 0.94, 0.95),
}
TABLE7 = {"ntk_trace_batch": (0.85, 0.91, 0.82), "ntk_trace_batch:form=sum": (0.88, 0.92, 0.87)}
BINS = 10
LARGEST_FEW = "Traces spread over orders of magnitude, so that Pearson's correlation hangs on the largest few."


def _table3(lab: Lab) -> Findings:
    remark = "NASI's published row (.62, .74, .76) is of networks that meet a condition which is not in our records."
    return Findings(rank_table(lab, ONE_SHOT, TABLE3, "NASI Table 3"), (remark,))


def _table6(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        true, labels, data = (
            networks(lab, benchmark, [ESTIMATE], batch_size=BATCH, **shown)
            for shown in ({}, {"labels": RANDOM_LABELS}, {"images": SYNTHETIC})
        )
        for what, other in ((RANDOM_LABELS_TITLE, labels), (RANDOM_DATA_TITLE, data)):
            published = TABLE6[what] if benchmark in ONE_SHOT and shows_images(lab) else None
            pair = ((true, ESTIMATE), (other, ESTIMATE))
            found += agreement(lab, f"true labels and {what}", benchmark, *pair, published)
    remarks = (
        "Our records say of the published figures that they are 1.00 for random labels and .94 to .95 for random data, "
        "and not which of them is of S1, S2 or S3. Random data are drawn from N(0, 1).",
        *width_remark(lab),
        *noise_remark(lab),
        LARGEST_FEW,
    )
    return Findings(tuple(found), remarks)


def _table7(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        study = networks(lab, benchmark, [EXACT, *ESTIMATES.values()], batch_size=BATCH)
        for name, proxy in ESTIMATES.items():
            value = TABLE7[proxy][ONE_SHOT.index(benchmark)] if benchmark in ONE_SHOT else None
            published = Published.value("NASI Table 7", value)
            found += agreement(lab, name, benchmark, (study, proxy), (study, EXACT), published)
    few = PROXIES[EXACT].settings["samples"].default
    remarks = (
        f"The exact trace is that of all logits and all parameters, on the first {few} of the {BATCH} images "
        "that the estimates are made of; BatchNorm couples them. On how many images the paper's is, our records do not "
        "say.",
        *width_remark(lab),
        LARGEST_FEW,
    )
    return Findings(tuple(found), remarks)


def networks(lab: Lab, benchmark: Benchmark, proxies: Iterable[str], **changes: Any) -> Study:
    """What proxies say of a benchmark's networks, those of NB-1Shot1 as narrow as they are in its one-shot network.

    So narrow they cost no more than others, and as many can be taken as there are.
    """
    if benchmark in ONE_SHOT:
        there = lab.shelf.table(benchmark).known(lab.shelf.column(benchmark))
        lab = replace(lab, samples=min(lab.samples, len(there)))
        benchmark = replace(benchmark, dearness=1)
        changes["skeleton_settings"] = _narrow(lab)
    return lab.study([benchmark], proxies, **changes)


def _narrow(lab: Lab) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted({"channels": Skeleton1Shot1().channels, **dict(lab.skeleton)}.items()))


def width_remark(lab: Lab) -> tuple[str, ...]:
    there = lab.shelf.available(ONE_SHOT)
    if not there or "channels" in dict(lab.skeleton):
        return ()
    skeleton = lab.setting(there[0].space, skeleton_settings=_narrow(lab)).skeleton
    return (
        f"Networks of NB-1Shot1 are as narrow as they are in its one-shot network ({skeleton}), and not as wide as the "
        "settings say; --skeleton channels=128 makes them so, and takes many times as long.",
    )


def shows_images(lab: Lab) -> bool:
    return lab.images not in (SYNTHETIC, CIRCLE)


def noise_remark(lab: Lab) -> tuple[str, ...]:
    said = "Networks are shown noise, whose labels are random: what is compared with random labels or data is the same."
    return () if shows_images(lab) else (said,)


def agreement(
    lab: Lab,
    what: str,
    benchmark: Benchmark,
    first: tuple[Study, str],
    second: tuple[Study, str],
    published: Published | None = None,
) -> list[Finding]:
    """How far two proxies, or one in two studies of the same networks, agree; Pearson's correlation is published."""
    found = []
    groups = first[0].groups
    for kind, statistic in (("Pearson", pearson), ("Spearman", spearman)):
        pairs = [
            (one[first[1]], other[second[1]])
            for one, other in zip(first[0].utilities, second[0].utilities, strict=True)
        ]
        estimates = [lab.estimate(statistic, *pair, groups=groups) for pair in pairs]
        notes = [f"{len(groups)} networks"]
        if len(estimates) > 1:
            notes.append(over_seeds([math.nan if found is None else found.value for found in estimates]))
        said = published if statistic is pearson else None
        found.append(Finding(f"{kind}: {what}", benchmark.name, estimates[0], said, CORRELATION, "; ".join(notes)))
    return found


def _figure1(lab: Lab) -> Findings:
    found, charts = [], []
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        study = lab.study([benchmark], ["ntk_trace_batch"], batch_size=BATCH)
        accuracy = study.truth(lab.shelf.column(benchmark))
        error = 100 - in_percent(accuracy)
        trace = study.utilities[0]["ntk_trace_batch"]
        ours = lab.estimate(spearman, trace, accuracy, groups=study.groups)
        found.append(Finding("Spearman: estimated trace and accuracy", benchmark.name, ours))
        binned = bins(trace, error)
        points = [(number + 1.0, float(rows.mean())) for number, rows in enumerate(binned)]
        for number, rows in enumerate(binned, start=1):
            name = f"mean error, %, in bin {number} of {len(binned)} by trace"
            found.append(mean_of(lab, name, benchmark.name, rows.tolist()))
        title = f"Error against the estimated trace, {benchmark.name}"
        chart = draw_svg(Lines("bin of networks, by trace", "mean error, %", [Line(benchmark.name, points)]))
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
nasi_table6 = Experiment(
    "nasi-table6",
    "NASI Table 6",
    PAPER,
    "how far the estimate depends on labels and data",
    (*ONE_SHOT, NB201_C10),
    samples=50,
    run=_table6,
)
nasi_table7 = Experiment(
    "nasi-table7",
    "NASI Table 7",
    PAPER,
    "how close the estimate from one batch comes to the exact trace",
    (*ONE_SHOT, NB201_C10),
    samples=50,
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
