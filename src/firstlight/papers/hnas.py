"""HNAS (Shu et al., NeurIPS 2022): gradient metrics, and the bounds made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from firstlight.core.statistics import Numbers, Statistic, kendall, pearson, spearman
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import CORRELATION, Finding, Findings
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_TEST, Benchmark
from firstlight.papers.class_scores import CLASSES
from firstlight.papers.class_study import USUAL, FromClasses
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas_bounds import (
    KAPPA,
    METRICS,
    OTHER_METRICS,
    PROXY_OF,
    TUNED,
    bound,
    condition_only,
    official_bound,
    size,
    size_of,
    trade_off_only,
)
from firstlight.papers.lab import Lab
from firstlight.papers.published import PublishedTable, read_paper
from firstlight.papers.rank_rows import Formula, Known, RankRow, correlation

HNAS = read_paper("hnas")
REALIZABLE, BOUND, OFFICIAL = "realizable", "non-realizable", "non-realizable, published code"
CASES: Mapping[str, Callable[[str], Formula]] = {
    REALIZABLE: size,
    "realizable and trade-off": trade_off_only,
    "kappa / M only": condition_only,
    BOUND: bound,
    OFFICIAL: official_bound,
}
WITH_KAPPA = ("kappa / M only", BOUND, OFFICIAL)
STATISTICS: Mapping[str, Statistic] = {"Pearson": pearson, "Spearman": spearman, "Kendall": kendall}
# Metrics whose other reading of Eq. 2 or Eq. 3 was measured, too
OTHER_READINGS = {"Grad, one norm (Eq. 2)": "grad_norm:form=whole", "SNIP, product (Eq. 3)": "snip:form=product"}
PAIRS = tuple(HNAS["table4"].rows)
# The data sets that Table 6 is measured on, by part
DATA_SETS = {USUAL: "CIFAR-10", "imagenet16": "tinyimagenet16"}
STAND_IN = "tinyimagenet16 replaces the images of ImageNet16-120. There are no images of CIFAR-100."
AGAINST = "Correlations are those with accuracy; the paper's are those with test error, with their signs changed."
VARIANTS = (
    "SynFlow is the logarithm of its sum. NASWOT is the paper's own variant, of the inputs of rectifiers and not of "
    "their signs. M is the absolute value of either."
)
ABSOLUTE = "GraSP counts by its absolute value, as in the paper."
BATCHES = (
    "M is measured on batches of 16 images; the paper uses 64, and finds nearly the same correlations with 16 (Table "
    "11). kappa of the narrow twin, with 4 channels and 64 images of 16 x 16 pixels, stands beside that of the network."
)


def bound_row(metric: str, case: str, published: PublishedTable | None = None) -> RankRow:
    """Return the row of a metric in one of the `CASES`; the published code is compared with the paper's row."""
    name = f"{metric}, {case}"
    in_paper = f"{metric}, {BOUND}" if case == OFFICIAL else name
    asks = (PROXY_OF[metric], KAPPA) if case in WITH_KAPPA else (PROXY_OF[metric],)
    return RankRow(name, asks, in_paper if published and in_paper in published.rows else "", CASES[case](metric))


def bound_lines(
    lab: Lab,
    found: Study,
    benchmarks: Sequence[Benchmark],
    rows: Sequence[RankRow],
    tables: Mapping[str, PublishedTable],
    suffix: str = "",
) -> Iterator[Finding]:
    """Yield the correlations of rows by each kind of correlation, with the published table of that kind."""
    for benchmark in benchmarks:
        for row in rows:
            for kind, table in tables.items():
                published = table.at(row.published, benchmark.name) if row.published in table.rows else None
                line = correlation(lab, found, benchmark, row, published, kind)
                yield replace(line, what=line.what + suffix)


def _table1(lab: Lab) -> Findings:
    known = FromClasses.of(lab, USUAL)
    benchmarks = lab.data.available(NB201_TEST)
    tables = {"spearman": HNAS["table5"], "kendall": HNAS["table5_kendall"]}
    lines: list[Finding] = []
    alone = [
        bound_row(metric, case, HNAS["table5"])
        for case in (REALIZABLE, "realizable and trade-off")
        for metric in METRICS
    ]
    found = known.study(benchmarks, known.columns(USUAL))
    lines += bound_lines(lab, found, benchmarks, alone, tables)
    readings = [RankRow(name, (proxy,)) for name, proxy in OTHER_READINGS.items()]
    lines += bound_lines(lab, found, benchmarks, readings, tables)
    for title, part in known.kappa_parts.items():
        rows = [bound_row(metric, case, HNAS["table5"]) for case in WITH_KAPPA for metric in METRICS]
        with_kappa = known.study(benchmarks, known.columns(USUAL, part))
        lines += bound_lines(lab, with_kappa, benchmarks, rows, tables, f", {title}")
    return Findings(tuple(lines), (known.remark,))


def _table1_nb101(lab: Lab) -> Findings:
    rows = [bound_row(metric, case, HNAS["table1"]) for case in (REALIZABLE, BOUND, OFFICIAL) for metric in METRICS]
    found = lab.study([NB101], [*PROXY_OF.values(), KAPPA])
    tables = {"spearman": HNAS["table1"], "kendall": HNAS["table1_kendall"]}
    return Findings((*bound_lines(lab, found, [NB101], rows, tables), *_pairs(lab, found, "NB101")))


def _table4(lab: Lab) -> Findings:
    known = FromClasses.of(lab, USUAL)
    found = known.study([NB201_C10], known.columns(USUAL))
    return Findings(tuple(_pairs(lab, found, "NB201")), (known.remark,))


def _pairs(lab: Lab, found: Study, on: str) -> Iterator[Finding]:
    """Yield the correlations between two metrics each."""
    for pair in PAIRS:
        columns = [size_of(found.utilities[0][PROXY_OF[name]]) for name in pair.split(" and ")]
        for kind, statistic in STATISTICS.items():
            ours = lab.estimate(statistic, *columns, groups=found.groups)
            published = HNAS["table4"].at(pair, f"{on} {kind}")
            yield Finding(f"{pair}: {kind}", on, ours, published, CORRELATION)


def _table6(lab: Lab) -> Findings:
    return _over_data_sets(lab, METRICS, {"spearman": HNAS["table6"]})


def _table13(lab: Lab) -> Findings:
    return _over_data_sets(lab, OTHER_METRICS, {"spearman": HNAS["table13"], "kendall": HNAS["table13_kendall"]})


def _over_data_sets(lab: Lab, metrics: Mapping[str, str], tables: Mapping[str, PublishedTable]) -> Findings:
    """Correlate the bounds of metrics measured on each data set; the note of a line has mean and deviation."""
    known = FromClasses.of(lab, USUAL)
    benchmarks, table = lab.data.available(NB201_TEST), tables["spearman"]
    rows = [bound_row(metric, case, table) for case in (REALIZABLE, BOUND) for metric in metrics]
    lines: dict[str, list[Finding]] = {}
    for part, title in DATA_SETS.items():
        if known.has(part):
            found = known.study(benchmarks, known.columns(part))
            lines[title] = list(bound_lines(lab, found, benchmarks, rows, tables, f", on {title}"))
    return Findings(tuple(_with_spread(lines)), (known.remark,))


def _with_spread(lines: Mapping[str, list[Finding]]) -> Iterator[Finding]:
    for same in zip(*lines.values(), strict=True):
        values = [line.ours.value for line in same if line.ours is not None]
        if len(values) > 1:
            note = f"over {len(values)} data sets {fmean(values):.3f} ± {stdev(values):.3f}"
            same = tuple(replace(line, note="; ".join(filter(None, (line.note, note)))) for line in same)
        yield from same


def values_of(found: Study, benchmark_column: str, row: RankRow) -> tuple[Numbers, Numbers]:
    """Return the values of a row and the accuracies, for charts."""
    truth = found.truth(benchmark_column)
    return row.values(found.utilities[0], Known(truth, found.groups, found.seeds[0])), truth


hnas_table1 = Experiment(
    "hnas-table1",
    (HNAS["table1"], HNAS["table5"]),
    "four gradient metrics, alone and with the condition number of the tangent kernel, on all of NAS-Bench-201",
    NB201_TEST,
    samples=CLASSES,
    run=_table1,
    remarks=(AGAINST, ABSOLUTE, BATCHES, TUNED),
    sampled=("classes",),
)
hnas_table1_nb101 = Experiment(
    "hnas-table1-nb101",
    (HNAS["table1"], HNAS["table4"], HNAS["figure1"]),
    "gradient metrics, alone, with the condition number, and compared with each other, on NAS-Bench-101",
    (NB101,),
    samples=600,
    run=_table1_nb101,
    remarks=(AGAINST, ABSOLUTE, VARIANTS, TUNED),
)
hnas_table4 = replace(
    hnas_table1,
    name="hnas-table4",
    answers=(HNAS["table4"], HNAS["figure1"]),
    shows="how similarly metrics rank networks",
    needs=(NB201_C10,),
    run=_table4,
    remarks=(ABSOLUTE, VARIANTS, BATCHES),
)
hnas_table6 = replace(
    hnas_table1,
    name="hnas-table6",
    answers=(HNAS["table6"],),
    shows="whether metrics measured on one data set rank networks trained on others",
    run=_table6,
    remarks=(AGAINST, STAND_IN, ABSOLUTE, BATCHES, TUNED),
)
hnas_table13 = replace(
    hnas_table6,
    name="hnas-table13",
    answers=(HNAS["table13"],),
    shows="four other metrics, alone and with the condition number of the tangent kernel",
    run=_table13,
    remarks=(AGAINST, STAND_IN, VARIANTS, BATCHES, TUNED),
)
