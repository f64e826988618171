"""RoBoT (He et al., ICLR 2024), and other ways to use a hundred queries, on seven tasks of TransNAS-Bench-101.

A search queries the result that it is judged by, as in the paper. Proxies are those of small networks that are shown
small images of noise; cells that compute the same function are one, and only they are chosen among.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from firstlight.core.events import Event
from firstlight.core.seeds import python_generator
from firstlight.core.statistics import Numbers
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth, read_truth
from firstlight.papers.base import FIGURE, Finding, Findings, Published, Scale
from firstlight.papers.benchmarks import TRANSNAS_TASKS, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import few_seeds_remark
from firstlight.papers.pools import BATCH, SKELETONS
from firstlight.papers.robot import METRICS, OURS, PRIOR, ROBOT
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.queries import Queries
from firstlight.spaces.in_space import in_space

QUERIES, TOGETHER = 100, 5
RANK = Scale("validation rank", tolerance=5.0, widest=60.0)
# Tasks whose published searches do without SynFlow
WITHOUT_SYNFLOW = ("TransNAS Segmentation", "TransNAS Normal", "TransNAS Autoencoder")


def methods_of(benchmark: Benchmark, pool: int) -> dict[str, str]:
    """Return the text of each method for a task; RoBoT chooses among all cells."""
    metrics = [name for name in METRICS.split("+") if name != "synflow" or benchmark.name not in WITHOUT_SYNFLOW]
    chosen = f":pool={pool}:batch={BATCH}"
    return {
        "RoBoT": f"robot:metrics={'+'.join(metrics)}:batch={BATCH}",
        OURS: f"predictor:by={'+'.join(PRIOR)}:together={TOGETHER}{chosen}",
        "best by the prior": f"verify:by=rank_mean({','.join(PRIOR)}){chosen}",
        "portfolio": f"portfolio:by={'+'.join(PRIOR)}{chosen}",
        "regularized evolution": "evolution",
        "random search": "random",
    }


def truth_of(lab: Lab, benchmark: Benchmark) -> TableTruth:
    """Return the results of all classes of cells."""
    setting = TableSetting(**in_space(benchmark.space))
    return read_truth(lab.data.table(benchmark), setting, lab.data.column(benchmark), (), ())


def searched(lab: Lab, benchmark: Benchmark, truth: TableTruth, method: str, seed: int, queries: int) -> float:
    """Return the best result that a search finds."""
    reached: list[float] = []

    def record(event: Event) -> None:
        if isinstance(event.item, Candidate) and event.item.utility is not None:
            reached.append(event.item.utility)

    measuring = Measuring(lab.setting_of(benchmark), lab.executor, lab.store, lab.callback)
    rng = python_generator(seed, "searches of RoBoT", benchmark.name, method)
    problem = Queries(truth, Objective(TRUTH), rng, queries, measuring=measuring, callback=record)
    AlgorithmRequest.parse(method, for_queries=True).run(problem)
    return max(reached)


def rank_of(value: float, results: Numbers) -> float:
    """Return the rank of a result among all cells of the table: 1 is the best."""
    return float(1 + np.sum(results > value))


def _transnas(lab: Lab) -> Findings:
    lines: list[Finding] = []
    for benchmark in lab.data.available(TRANSNAS_TASKS):
        truth = truth_of(lab, benchmark)
        column = lab.data.table(benchmark).values(lab.data.column(benchmark))
        results: Numbers = np.asarray(column, dtype=np.float64)
        found = {
            title: [rank_of(searched(lab, benchmark, truth, method, seed, QUERIES), results) for seed in lab.seeds]
            for title, method in methods_of(benchmark, lab.samples).items()
        }
        lines += _lines(lab, benchmark, found)
        best = rank_of(max(truth.figures[truth.target].values()), results)
        lines.append(lab.mean("rank of the best class", benchmark.name, [best] * len(lab.seeds)))
    return Findings(tuple(lines), tuple(few_seeds_remark(lab)))


def _lines(lab: Lab, benchmark: Benchmark, found: Mapping[str, Sequence[float]]) -> list[Finding]:
    lines = [
        lab.mean(f"{title}: rank", benchmark.name, ranks, _published(title, benchmark), RANK)
        for title, ranks in found.items()
    ]
    others = {title: ranks for title, ranks in found.items() if title != OURS}
    first = min(others, key=lambda title: float(np.mean(others[title])))
    lead = np.subtract(found[OURS], others[first]).tolist()
    what = f"{OURS}, minus the best of the others ({first}): rank"
    return [*lines, lab.mean(what, benchmark.name, lead, scale=FIGURE)]


def _published(title: str, benchmark: Benchmark) -> Published | None:
    table = ROBOT["transnas"]
    return table.at(title, benchmark.name) if title in table.rows else None


robot_transnas: Experiment = Experiment(
    "robot-transnas",
    (ROBOT["transnas"],),
    "what a hundred queries find on seven tasks with RoBoT, with a predictor, and with simpler uses of proxies",
    TRANSNAS_TASKS,
    samples=1000,
    run=_transnas,
    remarks=(
        f"Each search queries {QUERIES} cells, by the figure that it is judged by. RoBoT chooses among all classes of "
        "cells; the predictor, the portfolio and the best by the prior among as many as the number of networks says, "
        "drawn anew for each seed; evolution and random search draw from all. Ranks are among all 4,096 cells of the "
        "table, those of one class apart, since each was trained.",
        f"The predictor asks for {TOGETHER} cells before it is fitted again. The prior is {', '.join(PRIOR)}.",
    ),
    skeletons={"transnas-micro": SKELETONS["transnas-micro"]},
    seeds=20,
)
