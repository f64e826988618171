"""NASI (Shu et al., ICLR 2022): what its search finds, by labels and data, by batch size, and by budget.

Each seed of the lab is one search of `samples` steps. Steps are kept in the store, where rules and budgets share them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from firstlight.core.events import Event
from firstlight.data import InputSource
from firstlight.data.inputs import RANDOM_LABELS, SYNTHETIC, TRUE_LABELS
from firstlight.papers.base import Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_TEST, ONE_SHOT
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.nasi import (
    BATCH,
    BENCHMARKS,
    ESTIMATE,
    RANDOM_DATA_TITLE,
    RANDOM_LABELS_TITLE,
    agreement,
    networks,
    noise_remark,
    width_remark,
)
from firstlight.papers.published import read_paper
from firstlight.search.algorithms.nasi import Rule, ridge
from firstlight.search.one_shot_steps import StepJudge, StepSetting

PAPER = read_paper("nasi")
TABLE2, TABLE8, NB201 = PAPER["table2"], PAPER["table8"], PAPER["nb201"]
NASI, NASI_RIDGE = "NASI", "nasi-ridge"
STEP_BATCH = 16
TRUE_TITLE = "true labels"
# What a search is shown: the input source, or None for the images of the lab, and the labels
SHOWN = {
    TRUE_TITLE: (None, TRUE_LABELS),
    RANDOM_LABELS_TITLE: (None, RANDOM_LABELS),
    RANDOM_DATA_TITLE: (SYNTHETIC, TRUE_LABELS),
}
COMPARED_BATCHES, SEARCHED_BATCHES = (8, 16, 32, 128), (8, 16, 32)
# The longer of the two budgets is four times the shorter
LONGER = 4

RULE = (
    "Each seed is one search of as many steps as there are samples, without `none`. nu is the 75th percentile of its "
    "own traces and mu = 1; all steps have the same length. nasi-ridge uses the same steps. Intervals are over seeds."
)
CONTROLS = "Controls are means over all such cells of the table, with intervals over these cells."
ONE_SHOT_NETWORKS = (
    "One-shot networks of NB-1Shot1 are the published ones, with 16 channels and 9 cells; --skeleton does not apply."
)
LOOKED_UP = (
    "Cells of NB-1Shot1 are looked up in the NAS-Bench-101 table, which may be a sample: cells that are not in it have "
    "no value. Ours is the validation error, the published figure is the test error."
)


@dataclass(frozen=True)
class Found:
    """What the searches of all seeds found: architectures by method, in the order of the seeds."""

    architectures: Mapping[str, list[str]]
    steps: int
    seconds: float  # of computing, per search

    def __str__(self) -> str:
        return f"{self.steps} steps took {self.seconds:.3g} s"


def search(lab: Lab, space: str, steps: int, *, shown: str = TRUE_TITLE, batch: int = STEP_BATCH) -> Found:
    """Search once with every seed, by both rules."""
    images, labels = SHOWN[shown]
    source = InputSource(images or lab.images, labels=labels)
    found: dict[str, list[str]] = {NASI: [], NASI_RIDGE: []}
    seconds = 0.0
    with lab.executor.staying():
        for number, seed in enumerate(lab.seeds):
            asked = StepSetting(lab.setting(space, source, seed=seed), batch)
            judge = StepJudge(asked, lab.executor, lab.store)

            def watch(event: Event, before: int = number * steps) -> None:
                lab.progress(before + event.done, len(lab.seeds) * steps)

            judge.take(steps, math.inf, watch)
            taken = judge.steps()
            for method, preferences in ((NASI, Rule().growth(taken)[-1]), (NASI_RIDGE, ridge(taken))):
                found[method].append(str(asked.setting.space.canonical(judge.architecture(preferences))))
            seconds += judge.seconds
    return Found(found, steps, seconds / len(lab.seeds))


def _table2(lab: Lab) -> Findings:
    lines, costs = [], []
    for group in lab.data.by_table((*ONE_SHOT, *NB201_TEST)):
        by_shown = {shown: search(lab, group[0].space, lab.samples, shown=shown) for shown in SHOWN}
        costs.append(f"{group[0].space}: {by_shown[TRUE_TITLE]}")
        for benchmark in group:
            lookup = Lookup(lab, benchmark, errors=benchmark in ONE_SHOT)
            usual = by_shown[TRUE_TITLE].architectures[NASI]
            for shown, found in by_shown.items():
                lines += _by_method(lookup, found, shown, TABLE2.at(shown, benchmark.name))
                if shown != TRUE_TITLE and lab.shows_images:
                    architectures = found.architectures[NASI]
                    lines.append(lookup.difference(f"{NASI}, {shown} minus {TRUE_TITLE}", architectures, usual))
            lines += lookup.controls()
    return Findings(tuple(lines), (*few_seeds_remark(lab), *noise_remark(lab), _computing(costs)))


def _table8(lab: Lab) -> Findings:
    lines, costs = [], []
    once = replace(lab, seeds=lab.seeds[:1])  # the seeds are for the searches
    for (benchmark,) in lab.data.by_table(BENCHMARKS):
        usual = networks(once, benchmark, [ESTIMATE], batch_size=BATCH)
        for batch in COMPARED_BATCHES:
            other = networks(once, benchmark, [ESTIMATE], batch_size=batch)
            lines += agreement(once, f"batches of {batch} and {BATCH}", benchmark, (other, ESTIMATE), (usual, ESTIMATE))
    for group in lab.data.by_table(NB201_TEST):
        by_batch = {batch: search(lab, group[0].space, lab.samples, batch=batch) for batch in SEARCHED_BATCHES}
        costs += [f"batches of {batch}: {found}" for batch, found in by_batch.items()]
        for benchmark in group:
            lookup = Lookup(lab, benchmark)
            for batch, found in by_batch.items():
                lines += _by_method(lookup, found, f"batches of {batch}")
            lines += lookup.controls()
    return Findings(tuple(lines), (*few_seeds_remark(lab), *width_remark(lab), _computing(costs)))


def _nb201(lab: Lab) -> Findings:
    lines: list[Finding] = []
    costs: list[str] = []
    for group in lab.data.by_table(NB201_TEST):
        budgets = {lab.samples // LONGER: "T", lab.samples: f"{LONGER}T"}
        by_budget = {steps: search(lab, group[0].space, steps) for steps in budgets}
        costs += map(str, by_budget.values())
        for benchmark in group:
            lookup = Lookup(lab, benchmark)
            for steps, budget in budgets.items():
                lines += _by_method(lookup, by_budget[steps], f"{steps} steps", NB201.at(budget, benchmark.name))
            lines += lookup.controls()
    return Findings(tuple(lines), (*few_seeds_remark(lab), _computing(costs)))


def _by_method(lookup: Lookup, found: Found, how: str, published: Published | None = None) -> list[Finding]:
    """Return a finding for each method. The published figure is that of NASI itself."""
    return [
        lookup.mean(f"{method}, {how}", architectures, published if method == NASI else None)
        for method, architectures in found.architectures.items()
    ]


def _computing(costs: list[str]) -> str:
    return f"Computing time on one core, per search: {'; '.join(costs) or 'none'}."


nasi_table2 = Experiment(
    "nasi-table2",
    (TABLE2,),
    "what a search finds with true labels, random labels and random data",
    (*ONE_SHOT, *NB201_TEST),
    samples=25,
    run=_table2,
    remarks=(RULE, LOOKED_UP, ONE_SHOT_NETWORKS, CONTROLS),
    seeds=10,
    sampled=("steps",),
)
nasi_table8 = replace(
    nasi_table2,
    name="nasi-table8",
    answers=(TABLE8,),
    shows="how the estimate and a search depend on the batch size",
    run=_table8,
    remarks=(RULE, CONTROLS),
    sampled=("networks", "steps"),
)
nasi_nb201 = replace(
    nasi_table2,
    name="nasi-nb201",
    answers=(NB201,),
    shows="what a search finds with two budgets",
    needs=NB201_TEST,
    samples=100,
    run=_nb201,
    remarks=(
        RULE,
        "The paper's budgets are 30 s (T) and 120 s (4T) on its own machine. Ours are steps, "
        f"{LONGER} times as many in the longer search.",
        CONTROLS,
    ),
)
