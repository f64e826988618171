"""NASI (Shu et al., ICLR 2022): the trace of the tangent kernel, and its estimate from one batch.

`nasi_ranks.py` compares it with accuracy, and `nasi_search.py` has what a search by it finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from firstlight.core.statistics import pearson, spearman
from firstlight.data.inputs import RANDOM_LABELS, SYNTHETIC
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Finding, Findings, Published
from firstlight.papers.benchmarks import ONE_SHOT, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import over_seeds
from firstlight.proxies import PROXIES
from firstlight.spaces.nasbench1shot1.supernet import Skeleton1Shot1

NASI = read_paper("nasi")
BATCH = 64
BATCHES = (4, 8, 16, 32, 64, 128)
ESTIMATE, EXACT = "ntk_trace_batch", "ntk_trace_exact"
SUM, MSE = f"{ESTIMATE}:form=sum", f"{ESTIMATE}:loss=mse"
SCALED_ESTIMATE, SCALED_EXACT = f"{ESTIMATE}:parameterization=ntk", f"{EXACT}:parameterization=ntk"
RANDOM_LABELS_TITLE, RANDOM_DATA_TITLE = "random labels", "random data"
LARGEST_FEW = "Traces span orders of magnitude, so that the Pearson correlation depends on the few largest."


def _figure1(lab: Lab) -> Findings:
    found = []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        true, labels, data = (
            networks(lab, benchmark, [ESTIMATE], batch_size=BATCH, **shown)
            for shown in ({}, {"labels": RANDOM_LABELS}, {"images": SYNTHETIC})
        )
        for what, other in ((RANDOM_LABELS_TITLE, labels), (RANDOM_DATA_TITLE, data)):
            published = NASI["figure1"].at(what, benchmark.name) if lab.shows_images else None
            pair = ((true, ESTIMATE), (other, ESTIMATE))
            found.append(agreement(lab, f"true labels and {what}", benchmark, *pair, published))
    return Findings(tuple(found), (*width_remark(lab), *noise_remark(lab)))


def _table7(lab: Lab) -> Findings:
    found, table = [], NASI["table7"]
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        one = networks(lab, benchmark, [EXACT, MSE], batch_size=BATCH)
        scaled = networks(lab, benchmark, [SCALED_EXACT, SCALED_ESTIMATE], batch_size=BATCH, initialization="ntk")
        exact = one, EXACT
        studies = {batch: networks(lab, benchmark, [ESTIMATE, SUM], batch_size=batch) for batch in BATCHES}
        for batch, study in studies.items():
            published = table.at(f"b = {batch}", benchmark.name)
            title = f"mean of gradients (Eq. 12), b = {batch}"
            found.append(agreement(lab, title, benchmark, (study, ESTIMATE), exact, published))
        for batch, study in studies.items():
            published = table.at("sum", benchmark.name) if batch == BATCH else None
            title = f"sum over samples (Eq. 11), b = {batch}"
            found.append(agreement(lab, title, benchmark, (study, SUM), exact, published))
        title = f"mean of gradients of the squared error, b = {BATCH}"
        found.append(agreement(lab, title, benchmark, (one, MSE), exact))
        title = f"mean of gradients, NTK parameterization, b = {BATCH}"
        found.append(agreement(lab, title, benchmark, (scaled, SCALED_ESTIMATE), (scaled, SCALED_EXACT)))
    images = PROXIES[EXACT].settings["samples"].default
    remark = (
        f"The exact trace is that of all logits and all parameters, on {images} images; BatchNorm couples them. For "
        "the sum, each image is run by itself."
    )
    return Findings(tuple(found), (remark, *width_remark(lab)))


def networks(lab: Lab, benchmark: Benchmark, proxies: Iterable[str], **changes: Any) -> Study:
    """Score the networks of a benchmark, those of NB-1Shot1 as narrow as in its one-shot network.

    Narrow networks cost no more than those of other benchmarks, so that no fewer are taken.
    """
    if benchmark in ONE_SHOT:
        known = lab.data.table(benchmark).known(lab.data.column(benchmark))
        lab = replace(lab, samples=min(lab.samples, len(known)))
        benchmark = replace(benchmark, cost_factor=1)
        changes["skeleton_settings"] = narrow(lab)
    return lab.study([benchmark], proxies, **changes)


def narrow(lab: Lab) -> tuple[tuple[str, Any], ...]:
    """Return the skeleton settings of networks as narrow as the one-shot network, unless the user set the width."""
    return tuple(sorted({"channels": Skeleton1Shot1().channels, **dict(lab.skeleton)}.items()))


def width_remark(lab: Lab) -> tuple[str, ...]:
    """Return a remark if networks of NB-1Shot1 are narrower than those that were trained."""
    available = lab.data.available(ONE_SHOT)
    if not available or "channels" in dict(lab.skeleton):
        return ()
    skeleton = lab.setting(available[0].space, skeleton_settings=narrow(lab)).skeleton
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
) -> Finding:
    """Return the Pearson correlation of two proxies, or of one proxy in two studies of the same networks.

    The note has the number of networks, and the Spearman correlation.
    """
    groups = first[0].groups
    pairs = [
        (one[first[1]], other[second[1]]) for one, other in zip(first[0].utilities, second[0].utilities, strict=True)
    ]
    estimates = [lab.estimate(pearson, *pair, groups=groups) for pair in pairs]
    notes = [f"{len(groups)} networks", f"Spearman {spearman(*pairs[0]):.3f}"]
    if len(estimates) > 1:
        notes.append(over_seeds([math.nan if found is None else found.value for found in estimates]))
    return Finding(f"Pearson: {what}", benchmark.name, estimates[0], published, CORRELATION, "; ".join(notes))


nasi_figure1 = Experiment(
    "nasi-figure1",
    (NASI["figure1"],),
    "how much the estimate depends on labels and data",
    ONE_SHOT,
    samples=50,
    run=_figure1,
    remarks=("Random data are drawn from N(0, 1).", LARGEST_FEW),
)
nasi_table7 = Experiment(
    "nasi-table7",
    (NASI["table7"],),
    "how close the estimate from one batch is to the exact trace",
    ONE_SHOT,
    samples=30,
    run=_table7,
    remarks=(LARGEST_FEW,),
)
