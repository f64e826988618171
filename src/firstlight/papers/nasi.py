"""NASI (Shu et al., ICLR 2022): the trace of the tangent kernel, and its estimate from one batch.

`nasi_search.py` has what a search by it finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from firstlight.core.statistics import Numbers, pearson, spearman
from firstlight.data.inputs import RANDOM_LABELS, SYNTHETIC
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_C10, ONE_SHOT, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import in_percent
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import RankTable, over_seeds, rows_of
from firstlight.proxies import PROXIES
from firstlight.spaces.nasbench1shot1.supernet import Skeleton1Shot1
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

NASI = read_paper("nasi")
BENCHMARKS = (*ONE_SHOT, NB201_C10)
BATCH = 64
ESTIMATE, EXACT = "ntk_trace_batch", "ntk_trace_exact"
ESTIMATES = {"mean of gradients (Eq. 12)": ESTIMATE, "sum over samples (Eq. 11)": "ntk_trace_batch:form=sum"}
WITHOUT_CONDITION = "NASI, without its condition"
TABLE3 = RankTable(
    NASI["table3"],
    ONE_SHOT,
    rows_of(
        {
            "SNIP": "snip",
            "GraSP": "grasp",
            "SynFlow": "synflow",
            "NASWOT": "naswot",
            WITHOUT_CONDITION: ESTIMATE,
        },
        {WITHOUT_CONDITION: ""},
    ),
)
RANDOM_LABELS_TITLE, RANDOM_DATA_TITLE = "random labels", "random data"
BINS = 10
LARGEST_FEW = "Traces span orders of magnitude, so that the Pearson correlation depends on the few largest."


def _table6(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in lab.data.by_table(BENCHMARKS):
        true, labels, data = (
            networks(lab, benchmark, [ESTIMATE], batch_size=BATCH, **shown)
            for shown in ({}, {"labels": RANDOM_LABELS}, {"images": SYNTHETIC})
        )
        for what, other in ((RANDOM_LABELS_TITLE, labels), (RANDOM_DATA_TITLE, data)):
            published = NASI["table6"].at(what, benchmark.name) if lab.shows_images else None
            pair = ((true, ESTIMATE), (other, ESTIMATE))
            found += agreement(lab, f"true labels and {what}", benchmark, *pair, published)
    return Findings(tuple(found), (*width_remark(lab), *noise_remark(lab)))


def _table7(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in lab.data.by_table(BENCHMARKS):
        study = networks(lab, benchmark, [EXACT, *ESTIMATES.values()], batch_size=BATCH)
        for name, proxy in ESTIMATES.items():
            published = NASI["table7"].at(name, benchmark.name)
            found += agreement(lab, name, benchmark, (study, proxy), (study, EXACT), published)
    images = PROXIES[EXACT].settings["samples"].default
    exact = (
        f"The exact trace is that of all logits and all parameters, on the first {images} of the {BATCH} images that "
        "the estimates use. BatchNorm couples the images."
    )
    return Findings(tuple(found), (exact, *width_remark(lab)))


def networks(lab: Lab, benchmark: Benchmark, proxies: Iterable[str], **changes: Any) -> Study:
    """Score the networks of a benchmark, those of NB-1Shot1 as narrow as in its one-shot network.

    Narrow networks cost no more than those of other benchmarks, so that no fewer are taken.
    """
    if benchmark in ONE_SHOT:
        known = lab.data.table(benchmark).known(lab.data.column(benchmark))
        lab = replace(lab, samples=min(lab.samples, len(known)))
        benchmark = replace(benchmark, cost_factor=1)
        changes["skeleton_settings"] = _narrow(lab)
    return lab.study([benchmark], proxies, **changes)


def _narrow(lab: Lab) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted({"channels": Skeleton1Shot1().channels, **dict(lab.skeleton)}.items()))


def width_remark(lab: Lab) -> tuple[str, ...]:
    """Return a remark if networks of NB-1Shot1 are narrower than those that were trained."""
    available = lab.data.available(ONE_SHOT)
    if not available or "channels" in dict(lab.skeleton):
        return ()
    skeleton = lab.setting(available[0].space, skeleton_settings=_narrow(lab)).skeleton
    return (
        f"Networks of NB-1Shot1 are as narrow as in its one-shot network ({skeleton}), narrower than the settings say. "
        "--skeleton channels=128 gives them their full width, and takes many times as long.",
    )


def noise_remark(lab: Lab) -> tuple[str, ...]:
    """Return a remark if networks are shown noise."""
    remark = "Networks are shown noise with random labels: the comparison with random labels and random data is void."
    return () if lab.shows_images else (remark,)


def agreement(
    lab: Lab,
    what: str,
    benchmark: Benchmark,
    first: tuple[Study, str],
    second: tuple[Study, str],
    published: Published | None = None,
) -> list[Finding]:
    """Return Pearson and Spearman correlation of two proxies, or of one proxy in two studies of the same networks.

    The published figure is a Pearson correlation.
    """
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
    for (benchmark,) in lab.data.by_table(BENCHMARKS):
        study = lab.study([benchmark], [ESTIMATE], batch_size=BATCH)
        accuracy = study.truth(lab.data.column(benchmark))
        error = 100 - in_percent(accuracy)
        trace = study.utilities[0][ESTIMATE]
        ours = lab.estimate(spearman, trace, accuracy, groups=study.groups)
        found.append(Finding("Spearman: estimated trace and accuracy", benchmark.name, ours))
        binned = bins(trace, error)
        points = [(number + 1.0, float(rows.mean())) for number, rows in enumerate(binned)]
        for number, rows in enumerate(binned, start=1):
            name = f"mean error, %, in bin {number} of {len(binned)} by trace"
            found.append(lab.mean(name, benchmark.name, rows.tolist()))
        title = f"Error against the estimated trace, {benchmark.name}"
        chart = draw_svg(Lines("bin of networks, by trace", "mean error, %", [Line(benchmark.name, points)]))
        charts.append((title, str(chart)))
    return Findings(tuple(found), (), tuple(charts))


def bins(trace: Numbers, error: Numbers) -> list[Numbers]:
    """Return errors in equal bins by trace, at least ten networks in each and at most ten bins."""
    known = np.isfinite(trace) & np.isfinite(error)
    order = np.argsort(trace[known], kind="stable")
    parts = max(1, min(BINS, len(order) // 10))
    return [error[known][rows] for rows in np.array_split(order, parts)]


nasi_table3 = Experiment(
    "nasi-table3",
    (TABLE3.table,),
    "how well NASI and four other proxies rank networks",
    TABLE3.benchmarks,
    samples=100,
    run=TABLE3,
)
nasi_table6 = Experiment(
    "nasi-table6",
    (NASI["table6"],),
    "how much the estimate depends on labels and data",
    BENCHMARKS,
    samples=50,
    run=_table6,
    remarks=("Random data are drawn from N(0, 1).", LARGEST_FEW),
)
nasi_table7 = Experiment(
    "nasi-table7",
    (NASI["table7"],),
    "how close the estimate from one batch is to the exact trace",
    BENCHMARKS,
    samples=50,
    run=_table7,
    remarks=(LARGEST_FEW,),
)
nasi_figure1 = Experiment(
    "nasi-figure1",
    (NASI["figure1"],),
    "test error against the estimated trace, in bins of networks",
    BENCHMARKS,
    samples=100,
    run=_figure1,
    remarks=("Bins hold equal numbers of networks, lowest trace first.",),
)
