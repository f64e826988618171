"""HNAS (Shu et al., NeurIPS 2022): gradient metrics and the bounds made of them."""

from __future__ import annotations

from collections.abc import Callable

from firstlight.core.statistics import spearman
from firstlight.papers.base import (
    CORRELATION,
    USUAL_IMAGES,
    Experiment,
    Finding,
    Findings,
    Published,
)
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_TEST
from firstlight.papers.hnas_bounds import (
    KAPPA,
    METRICS,
    OTHER_METRICS,
    PROXY_OF,
    TUNED,
    bound,
    condition_only,
    size,
    size_of,
)
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import Formula, RankRow, correlation, rank_table

PAPER = "Shu2022hnas"
# NB101, NB201 CIFAR-10
REALIZABLE = {"Grad": (0.25, 0.64), "SNIP": (0.21, 0.64), "GraSP": (0.45, 0.57), "Trace": (0.30, 0.54)}
NON_REALIZABLE = {"Grad": (0.35, 0.75), "SNIP": (0.37, 0.75), "GraSP": (0.46, 0.69), "Trace": (0.33, 0.70)}
# Table 5, NB201 CIFAR-10
CONDITION_ONLY = {"Grad": 0.724, "SNIP": 0.728, "GraSP": 0.658, "Trace": 0.657}
# Table 4, NB201
BETWEEN = {("Grad", "SNIP"): 1.00, ("Grad", "GraSP"): 0.92, ("Grad", "Trace"): 0.97, ("KNAS", "Trace"): 0.97}
# Table 13, NB201 CIFAR-10
OTHER_NON_REALIZABLE = {"KNAS": 0.66, "Fisher": 0.51, "SynFlow": 0.81, "NASWOT": 0.05}
# What Table 6 is measured on, as far as there are files of these names
DATA_SETS = (USUAL_IMAGES, "cifar100", "imagenet16", "tinyimagenet16")
UNRECORDED = "Our records have no copy of this table: neither its figures nor its settings."
STAND_IN = "tinyimagenet16, where it is at hand, stands in for the images of ImageNet16-120."
AGAINST = "Spearman's correlation is that with accuracy; the paper's with test error, turned so that positive is good."
VARIANTS = (
    "SynFlow is the logarithm of its sum, and NASWOT the paper's own variant, of what rectifiers are given and not of "
    "its signs; M is the size of either."
)
ABSOLUTE = "GraSP counts by its absolute value, as the paper writes it."


def _table1(lab: Lab) -> Findings:
    benchmarks = (NB101, NB201_C10)
    realizable = tuple(_row(f"{name}, realizable", name, size, REALIZABLE[name]) for name in METRICS)
    tuned = tuple(_row(f"{name}, non-realizable", name, bound, NON_REALIZABLE[name]) for name in METRICS)
    condition = tuple(
        _row(f"{name}, kappa / M only", name, condition_only, (None, CONDITION_ONLY[name])) for name in METRICS
    )
    lines = (
        *rank_table(lab, benchmarks, realizable + tuned, "HNAS Table 1"),
        *rank_table(lab, benchmarks, condition, "HNAS Table 5"),
    )
    return Findings(lines, (AGAINST, ABSOLUTE, TUNED))


def _row(title: str, metric: str, formula: Callable[[str], Formula], published: tuple[float | None, ...]) -> RankRow:
    asks = (PROXY_OF[metric],) if formula is size else (PROXY_OF[metric], KAPPA)
    return RankRow(title, asks, published, formula(metric))


def _table4(lab: Lab) -> Findings:
    found = lab.study([NB201_C10], dict.fromkeys(PROXY_OF[name] for pair in BETWEEN for name in pair))
    lines = []
    for (first, second), value in BETWEEN.items():
        columns = [size_of(found.utilities[0][PROXY_OF[name]]) for name in (first, second)]
        ours = lab.estimate(spearman, *columns, groups=found.groups)
        published = Published.value("HNAS Table 4", value)
        lines.append(Finding(f"{first} and {second}", "NB201", ours, published, CORRELATION))
    return Findings(tuple(lines), (ABSOLUTE,))


def _table6(lab: Lab) -> Findings:
    benchmarks = lab.shelf.available(NB201_TEST)
    names = DATA_SETS if lab.input is None else (lab.input,)
    sources = {name: images for name in names if (images := lab.shelf.images(name))}
    if lab.input is not None or not sources:
        sources = {lab.images_name: lab.images}
    lines = []
    for name, images in sources.items():
        found = lab.study(benchmarks, METRICS.values(), images=images)
        for benchmark in benchmarks:
            for metric in METRICS:
                entry = _row(f"{metric} measured on {name}", metric, size, ())
                lines.append(correlation(lab, found, benchmark, entry, None))
    absent = [name for name in names if name not in sources and lab.input is None]
    without = (f"Not at hand and left out: images of {', '.join(absent)}.",) if absent else ()
    return Findings(tuple(lines), (UNRECORDED, STAND_IN, ABSOLUTE, *without))


def _table13(lab: Lab) -> Findings:
    rows = []
    for name in OTHER_METRICS:
        rows.append(_row(f"{name}, realizable", name, size, (None,)))
        rows.append(_row(f"{name}, non-realizable", name, bound, (OTHER_NON_REALIZABLE[name],)))
    return Findings(rank_table(lab, (NB201_C10,), rows, "HNAS Table 13"), (AGAINST, VARIANTS, TUNED))


hnas_table1 = Experiment(
    "hnas-table1",
    "HNAS Tables 1 and 5",
    PAPER,
    "four gradient metrics, alone and with the condition number of the tangent kernel",
    (NB101, NB201_C10),
    samples=60,
    run=_table1,
)
hnas_table4 = Experiment(
    "hnas-table4",
    "HNAS Table 4",
    PAPER,
    "how far gradient metrics rank networks alike",
    (NB201_C10,),
    samples=60,
    run=_table4,
)
hnas_table6 = Experiment(
    "hnas-table6",
    "HNAS Table 6",
    PAPER,
    "whether a metric measured on one data set ranks networks trained on others",
    NB201_TEST,
    samples=40,
    run=_table6,
)
hnas_table13 = Experiment(
    "hnas-table13",
    "HNAS Table 13",
    PAPER,
    "four other metrics, alone and with the condition number of the tangent kernel",
    (NB201_C10,),
    samples=60,
    run=_table13,
)
