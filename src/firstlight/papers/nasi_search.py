"""NASI (Shu et al., ICLR 2022): what its search finds, by labels and data, by batch size, and by budget.

A search is one seed of the lab, and takes as many steps as there are samples. Steps are kept in the lab's store: rules
and budgets share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from firstlight.core.events import Event
from firstlight.data import InputSource
from firstlight.data.inputs import RANDOM_LABELS, SYNTHETIC, TRUE_LABELS
from firstlight.papers.base import Experiment, Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_C10, NB201_TEST, ONE_SHOT
from firstlight.papers.lab import Lab, same_table
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.nasi import (
    BATCH,
    ESTIMATE,
    PAPER,
    RANDOM_DATA_TITLE,
    RANDOM_LABELS_TITLE,
    agreement,
    networks,
    noise_remark,
    shows_images,
    width_remark,
)
from firstlight.search.algorithms.nasi import Rule, ridge
from firstlight.search.one_shot_steps import StepJudge, StepSetting

NASI, NASI_RIDGE = "NASI", "nasi-ridge"
STEP_BATCH = 16
TRUE_TITLE = "true labels"
# What a search is shown: the source, or None for the lab's images, and the labels
SHOWN = {
    TRUE_TITLE: (None, TRUE_LABELS),
    RANDOM_LABELS_TITLE: (None, RANDOM_LABELS),
    RANDOM_DATA_TITLE: (SYNTHETIC, TRUE_LABELS),
}
# Test error in NB-1Shot1 S1, S2, S3
TABLE2 = {
    TRUE_TITLE: (7.3, 7.2, 7.2),
    RANDOM_LABELS_TITLE: (6.8, 7.0, 7.5),
    RANDOM_DATA_TITLE: (6.6, 7.5, 7.3),
}
COMPARED_BATCHES, SEARCHED_BATCHES = (8, 16, 32, 128), (8, 16, 32)
# NB201 CIFAR-10, CIFAR-100, ImageNet16-120; the longer of the budgets is four times the shorter
SHORT, LONG = (93.08, 69.51, 40.87), (93.55, 71.20, 44.84)
LONGER = 4

RULE = (
    "A search is one seed. It takes as many steps as there are samples, without `none`, and nu is the 75th percentile "
    "of its own traces with mu = 1; all steps have one length. nasi-ridge looks at the same steps. Intervals are over "
    "seeds."
)
CONTROLS = "Controls are means over all cells of the table that are made so, with intervals over these cells."
ONE_SHOT_NETWORKS = (
    "One-shot networks of NB-1Shot1 are the published ones, of 16 channels and 9 cells, whatever --skeleton says."
)
LOOKED_UP = (
    "Cells of NB-1Shot1 are looked up in the table of NAS-Bench-101, which may be a sample of it: what was found and "
    "is not there has no value. Ours is the error of validation, the published one that of the test set."
)


@dataclass(frozen=True)
class Found:
    """What one search for each seed came to: the architecture by method, in the order of the seeds."""

    architectures: Mapping[str, list[str]]
    steps: int
    seconds: float  # of computing, for one search

    def __str__(self) -> str:
        return f"{self.steps} steps took {self.seconds:.3g} s"


def search(lab: Lab, space: str, steps: int, *, shown: str = TRUE_TITLE, batch: int = STEP_BATCH) -> Found:
    images, labels = SHOWN[shown]
    source = InputSource(images or lab.images, labels=labels)
    found: dict[str, list[str]] = {NASI: [], NASI_RIDGE: []}
    seconds = 0.0
    with lab.executor.staying():
        for number, seed in enumerate(lab.seeds):
            asked = StepSetting(lab.setting(space, source, seed=seed), batch)
            judge = StepJudge(asked, lab.executor, lab.store)

            def watch(event: Event, before: int = number * steps) -> None:
                lab.watch(before + event.done, len(lab.seeds) * steps)

            judge.take(steps, math.inf, watch)
            taken = judge.steps()
            for method, preferences in ((NASI, Rule().growth(taken)[-1]), (NASI_RIDGE, ridge(taken))):
                found[method].append(str(asked.setting.space.canonical(judge.architecture(preferences))))
            seconds += judge.seconds
    return Found(found, steps, seconds / len(lab.seeds))


def _table2(lab: Lab) -> Findings:
    lines, costs = [], []
    for group in same_table(lab.shelf, (*ONE_SHOT, *NB201_TEST)):
        by_shown = {shown: search(lab, group[0].space, lab.samples, shown=shown) for shown in SHOWN}
        costs.append(f"{group[0].space}: {by_shown[TRUE_TITLE]}")
        for benchmark in group:
            lookup = Lookup(lab, benchmark, errors=benchmark in ONE_SHOT)
            usual = by_shown[TRUE_TITLE].architectures[NASI]
            for shown, found in by_shown.items():
                value = TABLE2[shown][ONE_SHOT.index(benchmark)] if benchmark in ONE_SHOT else None
                published = Published.value("NASI Table 2", value)
                lines += _by_method(lookup, found, shown, published)
                if shown != TRUE_TITLE and shows_images(lab):
                    architectures = found.architectures[NASI]
                    lines.append(lookup.difference(f"{NASI}, {shown} minus {TRUE_TITLE}", architectures, usual))
            lines += lookup.controls()
    remarks = (*_rule(lab), LOOKED_UP, ONE_SHOT_NETWORKS, CONTROLS, *noise_remark(lab), _computing(costs))
    return Findings(tuple(lines), remarks)


def _table8(lab: Lab) -> Findings:
    lines, costs = [], []
    once = replace(lab, seeds=lab.seeds[:1])  # the seeds are for the searches
    for (benchmark,) in same_table(lab.shelf, (*ONE_SHOT, NB201_C10)):
        usual = networks(once, benchmark, [ESTIMATE], batch_size=BATCH)
        for batch in COMPARED_BATCHES:
            other = networks(once, benchmark, [ESTIMATE], batch_size=batch)
            lines += agreement(once, f"batches of {batch} and {BATCH}", benchmark, (other, ESTIMATE), (usual, ESTIMATE))
    for group in same_table(lab.shelf, NB201_TEST):
        by_batch = {batch: search(lab, group[0].space, lab.samples, batch=batch) for batch in SEARCHED_BATCHES}
        costs += [f"batches of {batch}: {found}" for batch, found in by_batch.items()]
        for benchmark in group:
            lookup = Lookup(lab, benchmark)
            for batch, found in by_batch.items():
                lines += _by_method(lookup, found, f"batches of {batch}")
            lines += lookup.controls()
    unrecorded = "Our records have no copy of this table, only that its batches are of 8 to 128."
    return Findings(tuple(lines), (unrecorded, *_rule(lab), CONTROLS, *width_remark(lab), _computing(costs)))


def _nb201(lab: Lab) -> Findings:
    lines: list[Finding] = []
    costs: list[str] = []
    for group in same_table(lab.shelf, NB201_TEST):
        budgets = {lab.samples // LONGER: SHORT, lab.samples: LONG}
        by_budget = {steps: search(lab, group[0].space, steps) for steps in budgets}
        costs += map(str, by_budget.values())
        for benchmark in group:
            lookup = Lookup(lab, benchmark)
            for steps, figures in budgets.items():
                published = Published.value("NASI, NAS-Bench-201", figures[NB201_TEST.index(benchmark)])
                lines += _by_method(lookup, by_budget[steps], f"{steps} steps", published)
            lines += lookup.controls()
    budget = (
        f"The paper's budgets are 30 s (T) and 120 s (4T) of its own machine; ours are steps, {LONGER} times as many "
        "in the longer one."
    )
    return Findings(tuple(lines), (*_rule(lab), budget, CONTROLS, _computing(costs)))


def _by_method(lookup: Lookup, found: Found, how: str, published: Published | None = None) -> list[Finding]:
    """What is published is of NASI itself."""
    return [
        lookup.mean(f"{method}, {how}", architectures, published if method == NASI else None)
        for method, architectures in found.architectures.items()
    ]


def _rule(lab: Lab) -> Iterator[str]:
    yield RULE
    yield from few_seeds_remark(lab)


def _computing(costs: list[str]) -> str:
    return f"Computing on one core, for one search: {'; '.join(costs) or 'none'}."


nasi_table2 = Experiment(
    "nasi-table2",
    "NASI Table 2",
    PAPER,
    "what a search finds with true labels, random labels and random data",
    (*ONE_SHOT, *NB201_TEST),
    samples=25,
    run=_table2,
    seeds=10,
    sampled=("steps",),
)
nasi_table8 = Experiment(
    "nasi-table8",
    "NASI Table 8",
    PAPER,
    "what the batch size changes of the estimate and of a search",
    (*ONE_SHOT, *NB201_TEST),
    samples=25,
    run=_table8,
    seeds=10,
    sampled=("networks", "steps"),
)
nasi_nb201 = Experiment(
    "nasi-nb201",
    "NASI, NAS-Bench-201",
    PAPER,
    "what a search finds at two budgets",
    NB201_TEST,
    samples=100,
    run=_nb201,
    seeds=10,
    sampled=("steps",),
)
