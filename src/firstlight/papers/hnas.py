"""HNAS (Shu et al., NeurIPS 2022): gradient metrics, and the bounds made of them."""

from __future__ import annotations

from firstlight.core.statistics import spearman
from firstlight.papers.base import CORRELATION, Finding, Findings
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_TEST
from firstlight.papers.experiment import Experiment
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
from firstlight.papers.lab import USUAL_IMAGES, Lab
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import RankRow, RankTable, correlation

HNAS = read_paper("hnas")
CASES = {"realizable": size, "non-realizable": bound, "kappa / M only": condition_only}
PAIRS = (("Grad", "SNIP"), ("Grad", "GraSP"), ("Grad", "Trace"), ("KNAS", "Trace"))
# The images that Table 6 is measured on, where there are files of these names
DATA_SETS = (USUAL_IMAGES, "cifar100", "imagenet16", "tinyimagenet16")
STAND_IN = "tinyimagenet16, if available, replaces the images of ImageNet16-120."
AGAINST = "The Spearman correlation is that with accuracy; the paper's is that with test error, with its sign changed."
VARIANTS = (
    "SynFlow is the logarithm of its sum. NASWOT is the paper's own variant, of the inputs of rectifiers and not of "
    "their signs. M is the absolute value of either."
)
ABSOLUTE = "GraSP counts by its absolute value, as in the paper."


def _row(metric: str, case: str, *, published: bool = True) -> RankRow:
    name = f"{metric}, {case}"
    asks = (PROXY_OF[metric],) if case == "realizable" else (PROXY_OF[metric], KAPPA)
    return RankRow(name, asks, name if published else "", CASES[case](metric))


TABLE1 = RankTable(
    HNAS["table1"],
    (NB101, NB201_C10),
    tuple(_row(metric, case) for case in ("realizable", "non-realizable") for metric in METRICS),
)
TABLE5 = RankTable(HNAS["table5"], TABLE1.benchmarks, tuple(_row(metric, "kappa / M only") for metric in METRICS))
TABLE13 = RankTable(
    HNAS["table13"],
    (NB201_C10,),
    tuple(
        row
        for metric in OTHER_METRICS
        for row in (_row(metric, "realizable", published=False), _row(metric, "non-realizable"))
    ),
)


def _table1(lab: Lab) -> Findings:
    return Findings(TABLE1.lines(lab) + TABLE5.lines(lab))


def _table4(lab: Lab) -> Findings:
    found = lab.study([NB201_C10], dict.fromkeys(PROXY_OF[name] for pair in PAIRS for name in pair))
    lines = []
    for pair in PAIRS:
        columns = [size_of(found.utilities[0][PROXY_OF[name]]) for name in pair]
        ours = lab.estimate(spearman, *columns, groups=found.groups)
        what = " and ".join(pair)
        lines.append(Finding(what, "NB201", ours, HNAS["table4"].at(what, "NB201"), CORRELATION))
    return Findings(tuple(lines))


def _table6(lab: Lab) -> Findings:
    benchmarks = lab.data.available(NB201_TEST)
    names = DATA_SETS if lab.input is None else (lab.input,)
    sources = {name: images for name in names if (images := lab.data.images(name))}
    if lab.input is not None or not sources:
        sources = {lab.images_name: lab.images}
    lines = []
    for name, images in sources.items():
        found = lab.study(benchmarks, METRICS.values(), images=images)
        for benchmark in benchmarks:
            for metric in METRICS:
                row = RankRow(f"{metric} measured on {name}", (PROXY_OF[metric],), formula=size(metric))
                lines.append(correlation(lab, found, benchmark, row, None))
    absent = [name for name in names if name not in sources and lab.input is None]
    left_out = (f"Left out, because their images are not available: {', '.join(absent)}.",) if absent else ()
    return Findings(tuple(lines), left_out)


hnas_table1 = Experiment(
    "hnas-table1",
    (TABLE1.table, TABLE5.table),
    "four gradient metrics, alone and with the condition number of the tangent kernel",
    TABLE1.benchmarks,
    samples=60,
    run=_table1,
    remarks=(AGAINST, ABSOLUTE, TUNED),
)
hnas_table4 = Experiment(
    "hnas-table4",
    (HNAS["table4"],),
    "how similarly gradient metrics rank networks",
    (NB201_C10,),
    samples=60,
    run=_table4,
    remarks=(ABSOLUTE,),
)
hnas_table6 = Experiment(
    "hnas-table6",
    (HNAS["table6"],),
    "whether a metric measured on one data set ranks networks trained on others",
    NB201_TEST,
    samples=40,
    run=_table6,
    remarks=(STAND_IN, ABSOLUTE),
)
hnas_table13 = Experiment(
    "hnas-table13",
    (TABLE13.table,),
    "four other metrics, alone and with the condition number of the tangent kernel",
    TABLE13.benchmarks,
    samples=60,
    run=TABLE13,
    remarks=(AGAINST, VARIANTS, TUNED),
)
