"""HNAS (Shu et al., NeurIPS 2022): the effect of initialization, batch size and width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.class_study import USUAL, FromClasses
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas import ABSOLUTE, AGAINST, BOUND, HNAS, REALIZABLE, bound_row, hnas_table1
from firstlight.papers.hnas_bounds import KAPPA, METRICS, TUNED
from firstlight.papers.lab import Lab
from firstlight.papers.rank_rows import correlation

# The parts of the scores, by the columns of the tables
INITIALIZATIONS = {"LeCun": USUAL, "Xavier": "xavier", "He": "he"}
BATCHES = {4: "batch4", 8: "batch8", 16: USUAL, 32: "batch32", 64: "batch64"}
WIDTHS = {4: "channels4", 8: "channels8", 16: USUAL, 32: "channels32"}
# What the other of M and kappa is measured with: as published if it was measured, else the widest or largest that was
OTHER_BATCH, OTHER_WIDTH_OF_M, OTHER_WIDTH_OF_KAPPA = ("batch64", USUAL), ("channels32", USUAL), ("channels4", USUAL)
LECUN = (
    "LeCun is PyTorch's default initialization, as the paper calls it. Xavier and He draw from a normal distribution."
)
OTHERS = (
    "Initializations and widths are measured with batches of 16 images, the paper's with 64. The note of a line says "
    "what the other of M and kappa is measured with, where that is not what the paper has."
)
KINDS = ("spearman", "kendall")


def _tables10_to_12(lab: Lab) -> Findings:
    known = FromClasses.of(lab, USUAL)
    lines = [*_initializations(known), *_batches(known), *_widths(known)]
    return Findings(tuple(lines), (known.remark,))


def _initializations(known: FromClasses) -> Iterator[Finding]:
    for column, part in INITIALIZATIONS.items():
        if known.has(part):
            for case in (REALIZABLE, BOUND):
                yield from _rows(known, case, "table10", column, part, part)


def _batches(known: FromClasses) -> Iterator[Finding]:
    other = next(part for part in OTHER_BATCH if known.has(part))
    note = "" if other == OTHER_BATCH[0] else "the other of a batch of 16"
    for count, part in BATCHES.items():
        if known.has(part):
            yield from _rows(known, BOUND, "table11", f"M of a batch of {count}", part, other, note)
            yield from _rows(known, BOUND, "table11", f"kappa of a batch of {count}", other, part, note)


def _widths(known: FromClasses) -> Iterator[Finding]:
    of_m, of_kappa = (next(p for p in parts if known.has(p)) for parts in (OTHER_WIDTH_OF_M, OTHER_WIDTH_OF_KAPPA))
    for count, part in WIDTHS.items():
        if known.has(part):
            note = "" if of_kappa != USUAL else "kappa of 16 channels"
            yield from _rows(known, BOUND, "table12", f"M of {count} channels", part, of_kappa, note)
            note = "" if of_m != USUAL else "M of 16 channels"
            yield from _rows(known, BOUND, "table12", f"kappa of {count} channels", of_m, part, note)


def _rows(
    known: FromClasses, case: str, table: str, column: str, of_m: str, of_kappa: str, note: str = ""
) -> Iterator[Finding]:
    """Yield the correlations of all metrics in one column of a table."""
    asks = {proxy: (of_m, proxy) for proxy in METRICS.values()} | {KAPPA: (of_kappa, KAPPA)}
    found = known.study([NB201_C10], asks)
    for metric in METRICS:
        for kind in KINDS:
            published = HNAS[table if kind == "spearman" else f"{table}_kendall"]
            row = bound_row(metric, case, published)
            line = correlation(known.lab, found, NB201_C10, row, published.at(row.published, column), kind)
            notes = "; ".join(filter(None, (line.note, note)))
            yield replace(line, what=f"{line.what}, {column}", note=notes)


hnas_tables10_12: Experiment = replace(
    hnas_table1,
    name="hnas-tables10-12",
    answers=(HNAS["table10"], HNAS["table11"], HNAS["table12"]),
    shows="how these correlations depend on initialization, batch size and width",
    needs=(NB201_C10,),
    run=_tables10_to_12,
    remarks=(AGAINST, LECUN, OTHERS, ABSOLUTE, TUNED),
)
