"""SiGeo (Zheng et al., 2023): rank correlations after a warm-up, and what each term adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.evaluation.correlate import Study
from firstlight.papers.base import Finding, Findings, Published
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_TEST, NB301, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import PublishedTable
from firstlight.papers.rank_rows import Known, RankRow, Utilities, correlation
from firstlight.papers.sigeo import BY_CODE, BY_PAPER, PUBLISHED_AS, REMARKS, SIGEO
from firstlight.proxies.ensembles import Ensemble, after_warm_up, members, parse_criterion, pool_utilities
from firstlight.training.recipes import WARM_UPS
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

ZICO, T1, PARAMS = "ZiCo", "T1: ZiCo, 4 batches", "#params"
BY_RANKS, BY_LOSS_RANK = "SiGeo, ranks of its terms", "rank(T1) + 1/2 rank(-loss)"
# What is measured for each row; lambdas that are not given are those of the paper
TABLE3_ROWS = {
    ZICO: "zico",
    BY_PAPER: "sigeo",
    BY_CODE: "sigeo:variant=official-cv",
    BY_RANKS: "sigeo_rank",
    "-loss": "loss",
    PARAMS: "params",
}
ABLATION_ROWS = {
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
KINDS = {"spearman": SIGEO["table3"], "kendall": SIGEO["table3_kendall"]}
# The rows whose correlation after a warm-up is compared with that before
FOLLOWED = (T1, "T3: -loss", BY_PAPER, BY_CODE, BY_RANKS, BY_LOSS_RANK)
TABLE3_ON = (NB101, *NB201_TEST, NB301)
# Smaller versions of the networks of the tables
SKELETONS = {
    "nasbench201": (("cells", 2), ("channels", 8), ("input_shape", (3, 16, 16))),
    "nasbench101": (("cells", 1), ("channels", 16), ("input_shape", (3, 16, 16))),
    "darts": (("cells", 5), ("channels", 8), ("input_shape", (3, 16, 16))),
}
REMARKS_ON_WARM_UPS = (
    "By default (--skeleton), networks are smaller than those of the benchmark (NB201: 8 channels and 2 cells in each "
    "stage; NB101: 16 channels and 1 cell; NB301: 8 channels and 5 cells) and are shown images of 16 x 16 pixels.",
    "A warm-up uses a share of our training images, which are fewer than the paper's. The published code passes ten "
    "times over 6,000 to 24,000 images at a learning rate of 1 (--warmup 10%:recipe=official). Proxies are shown "
    "images of the warm-up, as in the published code.",
)


@dataclass(frozen=True)
class Level:
    """A warm-up, and the scores after it."""

    warm_up: WarmUp | SharedWarmUp | None
    found: Study
    rows: tuple[RankRow, ...]

    @property
    def title(self) -> str:
        return title_of(self.warm_up)

    def values(self, row: RankRow, truth: Numbers) -> Numbers:
        """Return the values of the first seed. Networks without a score rank last."""
        return unscored_last(row.values(self.found.utilities[0], Known(truth, self.found.groups, self.found.seeds[0])))


def share_of(warm_up: WarmUp | SharedWarmUp | None) -> float:
    """Return the share of the data that a warm-up uses; 0 if there is none."""
    return 0.0 if warm_up is None else warm_up.share


def title_of(warm_up: WarmUp | SharedWarmUp | None) -> str:
    """Return the name of a warm-up: its share, and what differs from the plain recipe."""
    if warm_up is None:
        return "no warm-up"
    if isinstance(warm_up, SharedWarmUp):
        return f"{100 * warm_up.share:g} % for shared weights"
    recipe, plain = warm_up.recipe, WARM_UPS["plain"]
    epochs = "" if recipe.epochs == 1 else f", {recipe.epochs} epochs"
    differs = (recipe.learning_rate, recipe.momentum) != (plain.learning_rate, plain.momentum)
    rate = f", rate {recipe.learning_rate:g}, momentum {recipe.momentum:g}" if differs else ""
    return f"{100 * warm_up.share:g} %{epochs}{rate}"


def ranked(name: str, criterion: str, *, warmed: bool) -> RankRow:
    """Return the row of a proxy or an ensemble, with the lambdas of the paper for cold or for warmed-up weights."""
    by = parse_criterion(criterion)
    by = after_warm_up(by, "images") if warmed else by
    asks = tuple(map(str, members(by)))

    def formula(utilities: Utilities, _known: Known) -> Numbers:
        values = np.stack([utilities[name] for name in asks], axis=1)
        return pool_utilities(by, np.where(np.isfinite(values), values, -np.inf))

    return RankRow(name, asks, formula=formula if isinstance(by, Ensemble) else None)


def studied(lab: Lab, benchmarks: Sequence[Benchmark], rows: dict[str, str]) -> list[Level]:
    """Score networks after each warm-up of the lab."""
    levels = []
    for warm_up in lab.warm_ups:
        own = tuple(ranked(name, text, warmed=warm_up is not None) for name, text in rows.items())
        found = lab.study(benchmarks, [proxy for row in own for proxy in row.asks], warm_up=warm_up)
        levels.append(Level(warm_up, found, own))
    return levels


def _table3(lab: Lab) -> Findings:
    findings = []
    for group in lab.data.by_table(TABLE3_ON):
        levels = studied(lab, group, TABLE3_ROWS)
        for benchmark in group:
            for number, level in enumerate(levels):
                for row in level.rows:
                    if row.name != PARAMS or number == 0:  # a warm-up does not change it
                        for kind, table in KINDS.items():
                            published = _published(row.name, level, benchmark, table)
                            found = correlation(lab, level.found, benchmark, row, published, kind)
                            findings.append(_on(found, level))
    return Findings(tuple(findings))


def _published(name: str, level: Level, benchmark: Benchmark, table: PublishedTable) -> Published | None:
    """Return the figure of Table 3 for the share of a warm-up."""
    row = f"{PUBLISHED_AS.get(name, name)}, {100 * share_of(level.warm_up):g} %"
    return table.at(row, benchmark.name) if row in table.rows else None


def _ablation(lab: Lab) -> Findings:
    levels = studied(lab, [NB201_C10], ABLATION_ROWS)
    truth, findings, curves = levels[0].found.truth(lab.data.column(NB201_C10)), list[Finding](), list[Line]()
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
    for name in (*FOLLOWED, PARAMS):
        points = [
            (float(_images_seen(level.warm_up)), spearman(level.values(row, truth), truth))
            for level in in_order
            for row in level.rows
            if row.name == name
        ]
        curves.append(Line(name, points))
    drawn = draw_svg(Lines("share of the data x epochs", "Spearman correlation", curves)) if len(levels) > 1 else ""
    charts = (("Correlation with accuracy after a warm-up", str(drawn)),) if drawn else ()
    return Findings(tuple(findings), (), charts)


def _images_seen(warm_up: WarmUp | SharedWarmUp | None) -> float:
    return 0.0 if warm_up is None else warm_up.share * warm_up.recipe.epochs


def _gain(lab: Lab, what: str, level: Level, first: Numbers, second: Numbers, truth: Numbers) -> Finding:
    def lead(first: Numbers, second: Numbers, truth: Numbers) -> float:
        return spearman(first, truth) - spearman(second, truth)

    ours = lab.estimate(lead, first, second, truth, groups=level.found.groups)
    return Finding(what, f"{NB201_C10.name}, {level.title}", ours)


def _on(finding: Finding, level: Level) -> Finding:
    return replace(finding, on=f"{finding.on}, {level.title}")


sigeo_table3 = Experiment(
    "sigeo-table3",
    (SIGEO["table3"],),
    "how well SiGeo and ZiCo rank networks that were warmed up",
    TABLE3_ON,
    samples=30,
    run=_table3,
    remarks=(*REMARKS_ON_WARM_UPS, *REMARKS),
    warm_ups=("0", "10%", "20%", "40%"),
    skeletons=SKELETONS,
)
sigeo_ablation = Experiment(
    "sigeo-ablation",
    (SIGEO["eq7"],),
    "what each term of SiGeo adds, without and after a warm-up",
    (NB201_C10,),
    samples=30,
    run=_ablation,
    remarks=(
        *REMARKS_ON_WARM_UPS,
        "Gains are differences of Spearman correlations; their intervals resample the same networks for both. T1, T2 "
        "and the loss are the terms of SiGeo. Its weights are (1, 1, 0) without a warm-up and (1, 50, 1) after it.",
    ),
    warm_ups=("0", "10%", "40%"),
    skeletons=SKELETONS,
)
