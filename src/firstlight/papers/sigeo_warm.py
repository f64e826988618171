"""SiGeo (Zheng et al., 2023): rank correlations of networks that were warmed up, and what each term adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import FIGURE, Experiment, Finding, Findings, Published
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_VALIDATED, Benchmark
from firstlight.papers.lab import Lab, same_table
from firstlight.papers.rank_rows import Known, RankRow, Utilities, correlation
from firstlight.papers.sigeo import REMARKS
from firstlight.proxies.ensembles import Ensemble, after_warm_up, members, parse_criterion, pool_utilities
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import RECIPES, WarmUp
from firstlight.views.charts.lines import Line, legend, lines

PAPER = "Zheng2023sigeo"
ZICO, T1, PARAMS = "ZiCo", "T1: ZiCo, 4 batches", "#params"
BY_PAPER, BY_CODE, BY_RANKS = "SiGeo, as in the paper", "SiGeo, published code", "SiGeo, ranks of its terms"
BY_LOSS_RANK = "rank(T1) + 1/2 rank(-loss)"
# What is asked for each row; lambdas that are not written are those of the paper
TABLE3 = {
    ZICO: "zico",
    BY_PAPER: "sigeo",
    BY_CODE: "sigeo:variant=official-cv",
    BY_RANKS: "sigeo_rank",
    "-loss": "loss",
    PARAMS: "params",
}
ABLATION = {
    T1: "zico:batches=4",
    "T2: Fisher-Rao norm": "fr_norm",
    "T2, published code": "sigeo:lambda1=0:lambda2=1:lambda3=0:variant=official-cv",
    "T3: -loss": "loss",
    "T1 + T2": "sigeo:lambda1=1:lambda2=1:lambda3=0",
    "T1 + 50 T2": "sigeo:lambda1=1:lambda2=50:lambda3=0",
    "T1 - loss": "sigeo:lambda1=1:lambda2=0:lambda3=1",
    BY_PAPER: "sigeo",
    BY_CODE: "sigeo:variant=official-cv",
    BY_RANKS: "sigeo_rank",
    BY_LOSS_RANK: "sigeo_loss_rank",
    "ZiCo, 2 batches": "zico",
    PARAMS: "params",
}
# Those whose correlation after a warm-up is compared with the one before
FOLLOWED = (T1, "T3: -loss", BY_PAPER, BY_CODE, BY_RANKS, BY_LOSS_RANK)
# By the share of the data; NB101, then NB201 CIFAR-10, CIFAR-100, ImageNet16-120
TABLE3_ON = (NB101, *NB201_VALIDATED)
SIGEO = {
    0.0: (0.63, 0.78, 0.82, 0.80),
    0.1: (0.68, 0.83, 0.85, 0.85),
    0.2: (0.69, 0.84, 0.87, 0.86),
    0.4: (0.70, 0.83, 0.88, 0.87),
}
ZICO_COLD = (0.63, 0.74, 0.78, 0.79)
ZICO_WARM = ((0.63, 0.64), (0.77, 0.78))
# Small twins of the networks that the tables are of
SKELETONS = {
    "nasbench201": (("cells", 2), ("channels", 8), ("input_shape", (3, 16, 16))),
    "nasbench101": (("cells", 1), ("channels", 16), ("input_shape", (3, 16, 16))),
}
SMALL_REMARK = (
    "Unless --skeleton says otherwise, networks are small twins of those of the benchmark (NB201: 8 channels and 2 "
    "cells in each stage; NB101: 16 channels and 1 cell), shown images of 16 x 16 pixels."
)


@dataclass(frozen=True)
class Level:
    """What networks are trained with before they are looked at, and what they were found to be worth."""

    warm_up: WarmUp | SharedWarmUp | None
    found: Study
    rows: tuple[RankRow, ...]

    @property
    def title(self) -> str:
        return title_of(self.warm_up)

    def values(self, row: RankRow, truth: Numbers) -> Numbers:
        """Of the first seed; networks without a score rank last."""
        return unscored_last(row.values(self.found.utilities[0], Known(truth, self.found.groups, self.found.seeds[0])))


def title_of(warm_up: WarmUp | SharedWarmUp | None) -> str:
    if warm_up is None:
        return "no warm-up"
    if isinstance(warm_up, SharedWarmUp):
        return f"{100 * warm_up.share:g} % for shared weights"
    plain = RECIPES["plain"]
    epochs = "" if warm_up.epochs == 1 else f", {warm_up.epochs} epochs"
    differs = (warm_up.learning_rate, warm_up.momentum) != (plain.learning_rate, plain.momentum)
    rate = f", rate {warm_up.learning_rate:g}, momentum {warm_up.momentum:g}" if differs else ""
    return f"{100 * warm_up.share:g} %{epochs}{rate}"


def ranked(name: str, criterion: str, *, warmed: bool) -> RankRow:
    """A proxy or an ensemble, with the lambdas of the paper for weights that were warmed up or not."""
    by = parse_criterion(criterion)
    by = after_warm_up(by, "images") if warmed else by
    asks = tuple(map(str, members(by)))

    def formula(utilities: Utilities, _known: Known) -> Numbers:
        found = np.stack([utilities[name] for name in asks], axis=1)
        return pool_utilities(by, np.where(np.isfinite(found), found, -np.inf))

    return RankRow(name, asks, (), formula if isinstance(by, Ensemble) else None)


def studied(lab: Lab, benchmarks: Sequence[Benchmark], rows: dict[str, str]) -> list[Level]:
    levels = []
    for warm_up in lab.warm_ups:
        own = tuple(ranked(name, text, warmed=warm_up is not None) for name, text in rows.items())
        found = lab.study(benchmarks, [proxy for row in own for proxy in row.asks], warm_up=warm_up)
        levels.append(Level(warm_up, found, own))
    return levels


def _table3(lab: Lab) -> Findings:
    findings = []
    for group in same_table(lab.shelf, TABLE3_ON):
        levels = studied(lab, group, TABLE3)
        for benchmark in group:
            for number, level in enumerate(levels):
                for row in level.rows:
                    if row.name != PARAMS or number == 0:  # which a warm-up does not change
                        found = correlation(lab, level.found, benchmark, row, _published(row.name, level, benchmark))
                        findings.append(_on(found, level))
    return Findings(tuple(findings), (SMALL_REMARK, *warm_remarks(lab), *REMARKS))


def _published(name: str, level: Level, benchmark: Benchmark) -> Published | None:
    share, place = 0.0 if level.warm_up is None else level.warm_up.share, TABLE3_ON.index(benchmark)
    if name in (BY_PAPER, BY_CODE) and share in SIGEO:
        return Published.value("SiGeo Table 3" if share else "SiGeo Table 2", SIGEO[share][place])
    if name == ZICO and not share:
        return Published.value("SiGeo Table 2", ZICO_COLD[place])
    if name == ZICO and share in SIGEO and place < len(ZICO_WARM):
        return Published("SiGeo Table 3", *ZICO_WARM[place])
    return None


def _ablation(lab: Lab) -> Findings:
    levels = studied(lab, [NB201_C10], ABLATION)
    truth, findings, curves = levels[0].found.truth(lab.shelf.column(NB201_C10)), list[Finding](), list[Line]()
    for level in levels:
        by_name = {row.name: row for row in level.rows}
        for row in level.rows:
            findings.append(_on(correlation(lab, level.found, NB201_C10, row, None), level))
        for row in level.rows[1:]:
            what = f"{row.name}: gain over T1"
            findings.append(_gain(lab, what, level, level.values(row, truth), level.values(by_name[T1], truth), truth))
    for level in levels[1:]:
        before = {row.name: row for row in levels[0].rows}
        for row in level.rows:
            if row.name in FOLLOWED:
                what = f"{row.name}: gain over {levels[0].title}"
                cold = levels[0].values(before[row.name], truth)
                findings.append(_gain(lab, what, level, level.values(row, truth), cold, truth))
    in_order = sorted(levels, key=lambda level: _images_seen(level.warm_up))
    for number, name in enumerate((*FOLLOWED, PARAMS), start=1):
        points = [
            (float(_images_seen(level.warm_up)), spearman(level.values(row, truth), truth))
            for level in in_order
            for row in level.rows
            if row.name == name
        ]
        curves.append(Line(name, points, series=number))
    drawn = lines(curves, "share of the data x epochs", "Spearman's correlation") if len(levels) > 1 else ""
    charts = (("Correlation with accuracy after a warm-up", f"{drawn}{legend([*FOLLOWED, PARAMS])}"),) if drawn else ()
    remarks = (
        SMALL_REMARK,
        *warm_remarks(lab),
        "Gains are differences of Spearman's correlation, with intervals from the same networks drawn for both. T1, T2 "
        "and the loss are the terms of SiGeo; its weights are (1, 1, 0) without a warm-up and (1, 50, 1) after it.",
    )
    return Findings(tuple(findings), remarks, charts)


def _images_seen(warm_up: WarmUp | SharedWarmUp | None) -> float:
    return 0.0 if warm_up is None else warm_up.share * warm_up.epochs


def _gain(lab: Lab, what: str, level: Level, first: Numbers, second: Numbers, truth: Numbers) -> Finding:
    def lead(first: Numbers, second: Numbers, truth: Numbers) -> float:
        return spearman(first, truth) - spearman(second, truth)

    ours = lab.estimate(lead, first, second, truth, groups=level.found.groups)
    return Finding(what, f"{NB201_C10.name}, {level.title}", ours, scale=FIGURE)


def _on(finding: Finding, level: Level) -> Finding:
    return Finding(
        finding.what,
        f"{finding.on}, {level.title}",
        finding.ours,
        finding.published,
        finding.scale,
        finding.note,
    )


def warm_remarks(lab: Lab) -> tuple[str, ...]:
    return (
        "A warm-up is of a share of our training images, which are fewer than the paper's; the published code passes "
        "ten times over 6,000 to 24,000 images at a rate of 1 (--warmup 10%:recipe=official). Proxies are shown images "
        "that are among those of the warm-up, as in the published code.",
    )


sigeo_table3 = Experiment(
    "sigeo-table3",
    "SiGeo Table 3",
    PAPER,
    "how well SiGeo and ZiCo rank networks that were warmed up",
    TABLE3_ON,
    samples=30,
    run=_table3,
    warm_ups=("0", "10%", "20%", "40%"),
    skeletons=SKELETONS,
)
sigeo_ablation = Experiment(
    "sigeo-ablation",
    "SiGeo Eq. 7",
    PAPER,
    "what each term of SiGeo adds, without and after a warm-up",
    (NB201_C10,),
    samples=30,
    run=_ablation,
    warm_ups=("0", "10%", "40%"),
    skeletons=SKELETONS,
)
