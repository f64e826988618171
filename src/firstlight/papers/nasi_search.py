"""NASI (Shu et al., ICLR 2022): what its search finds, by labels and data, width, batch size, bound, and budget.

Each seed of the lab is one search of `samples` steps. Steps are kept in the store, where rules and budgets share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firstlight.core.events import Event
from firstlight.data import InputSource
from firstlight.data.inputs import RANDOM_LABELS, SYNTHETIC, TRUE_LABELS
from firstlight.papers.base import Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_TEST, ONE_SHOT
from firstlight.papers.experiment import Experiment
from firstlight.papers.known_cells import KnownCells
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.nasi import RANDOM_DATA_TITLE, RANDOM_LABELS_TITLE, noise_remark
from firstlight.papers.published import PublishedTable, read_paper
from firstlight.search.algorithms.nasi import Rule, read_mu, ridge
from firstlight.search.one_shot_steps import Floats, StepJudge, StepSetting
from firstlight.spaces import SPACES
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

PAPER = read_paper("nasi")
FIGURE2, FIGURE6 = PAPER["figure2"], PAPER["figure6"]
TABLE2, TABLE4, TABLE6, TABLE8 = PAPER["table2"], PAPER["table4"], PAPER["table6"], PAPER["table8"]
NASI, NASI_RIDGE = "NASI", "nasi-ridge"
TRUE_TITLE = "true labels"
# What a search is shown: the input source, or None for the images of the lab, and the labels
SHOWN = {
    TRUE_TITLE: (None, TRUE_LABELS),
    RANDOM_LABELS_TITLE: (None, RANDOM_LABELS),
    RANDOM_DATA_TITLE: (SYNTHETIC, TRUE_LABELS),
}
WIDTHS, BATCHES = (2, 4, 8, 16, 32), (8, 16, 32, 64, 128)
# Factors of nu of Eq. 40, and mu, as in the paper's map, where nu = 100 is that of Eq. 40
NU_FACTORS, MUS = (0.1, 0.5, 1.0, 1.5, 2.0), (1, 2, 3, 4)
# The longer of the two budgets is four times the shorter
LONGER = 4
# As the paper searches NAS-Bench-1Shot1, but for the batches
ON_ONE_SHOT = "nasi:variant=ada:nu=1000:mu=1:batch=16"
SMALLER = {benchmark.space: (("input_shape", (3, 16, 16)),) for benchmark in ONE_SHOT}

EACH_SEED = "Each seed is one search of as many steps as there are samples. Intervals are over seeds."
CONTROLS = "Controls are means over all such cells of the table, with intervals over these cells."
LOOKED_UP = (
    "The paper searches for an epoch of CIFAR-10: 782 steps of 64 images. Ours are fewer, smaller and with images of "
    "16 x 16 pixels, to fit a CPU."
)
KNOWN = (
    "Errors of NB-1Shot1 are validation errors in the NAS-Bench-101 table, which may be a sample: of the cells in it, "
    "the one with the largest sum of preferences is looked up. Notes say how many searches would choose it among all "
    "cells of the space, too. The published figures are test errors."
)
ONE_SHOT_NETWORKS = (
    "One-shot networks of NB-1Shot1 are the published ones: 9 cells, and 16 channels unless a width is named."
)


@dataclass(frozen=True)
class Taken:
    """The steps of one search, and the rule of the lab."""

    judge: StepJudge
    rule: Rule

    def architecture(self, preferences: Floats) -> str:
        """Return the canonical text of the architecture that preferences lead to."""
        space = self.judge.asked.setting.space
        return str(space.canonical(self.judge.architecture(preferences)))


def take(lab: Lab, space: str, steps: int, *, shown: str = TRUE_TITLE, **changes: Any) -> Iterator[Taken]:
    """Take the steps of a search with every seed; `changes` are settings of `nasi` other than those of the lab."""
    assert lab.algorithm is not None
    asked = lab.algorithm.all_settings | changes
    images, labels = SHOWN[shown]
    source = InputSource(images or lab.images, labels=labels)
    objective = {name: asked[name] for name in ("none", "temperature", "channels", "loss", "parameterization")}
    bound = {name: asked[name] for name in ("variant", "nu", "percentile", "normalize", "temperature")}
    rule = Rule(mu=read_mu(asked["mu"], SPACES[space]), **bound)
    with lab.executor.staying():
        for number, seed in enumerate(lab.seeds):
            setting = StepSetting(lab.setting(space, source, seed=seed), asked["batch"], **objective)
            judge = StepJudge(setting, lab.executor, lab.store)

            def watch(event: Event, before: int = number * steps) -> None:
                lab.progress(before + event.done, len(lab.seeds) * steps)

            own = rule
            if rule.needs_nu:
                own = replace(rule, nu=float(judge.traces_before(asked["nu_samples"]).mean()))
            judge.take(steps, math.inf, watch)
            yield Taken(judge, own)


@dataclass(frozen=True)
class Found:
    """What the searches of all seeds found: architectures by method, in the order of the seeds.

    Attributes:
        architectures: What is looked up: the networks found, or the known ones that stand in for them.
        own: The number of searches whose NASI network is known itself.
        steps: The steps of a search.
        seconds: The seconds of computing per search.
    """

    architectures: Mapping[str, list[str]]
    own: int
    steps: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.steps} steps took {self.seconds:.3g} s"


def search(
    lab: Lab, space: str, steps: int, *, known: KnownCells | None = None, shown: str = TRUE_TITLE, **changes: Any
) -> Found:
    """Search once with every seed, by NASI and by the regression; with `known`, among known cells only."""
    found: dict[str, list[str]] = {NASI: [], NASI_RIDGE: []}
    seconds, own = 0.0, 0
    for taken in take(lab, space, steps, shown=shown, **changes):
        made = taken.judge.steps()
        for method, preferences in ((NASI, taken.rule.growth(made)[-1]), (NASI_RIDGE, ridge(made))):
            free = taken.architecture(preferences)
            found[method].append(known.best(preferences) if known else free)
            own += method == NASI and found[method][-1] == free
        seconds += taken.judge.seconds
    return Found(found, own, steps, seconds / len(lab.seeds))


def _on_one_shot(lab: Lab, table: PublishedTable, ways: Mapping[str, Mapping[str, Any]], usual: str = "") -> Findings:
    """Search each NAS-Bench-1Shot1 space in several ways, and compare each with the row of its name, and the usual."""
    lines: list[Finding] = []
    costs: list[str] = []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        lookup = Lookup(lab, benchmark, errors=True)
        known = KnownCells(benchmark.space, lookup.known)
        found = {way: search(lab, benchmark.space, lab.samples, known=known, **ways[way]) for way in ways}
        for way, searches in found.items():
            costs.append(f"{benchmark.name}, {way}: {searches}")
            line = lookup.mean(f"{NASI}, {way}", searches.architectures[NASI], table.at(way, benchmark.name))
            lines.append(replace(line, note=f"{line.note}; {searches.own} would choose it among all cells"))
        for way, searches in found.items():
            if usual not in ("", way):
                pair = searches.architectures[NASI], found[usual].architectures[NASI]
                lines.append(lookup.difference(f"{NASI}, {way} minus {usual}", *pair))
        lines += lookup.controls()
    return Findings(tuple(lines), (*few_seeds_remark(lab), _computing(costs)))


def _table2(lab: Lab) -> Findings:
    ways = {shown: {"shown": shown} for shown in (SHOWN if lab.shows_images else (TRUE_TITLE,))}
    found = _on_one_shot(lab, TABLE2, ways, TRUE_TITLE)
    return replace(found, remarks=(*found.remarks, *noise_remark(lab)))


def _table6(lab: Lab) -> Findings:
    return _on_one_shot(lab, TABLE6, {f"N = {width}": {"channels": width} for width in WIDTHS})


def _table8(lab: Lab) -> Findings:
    return _on_one_shot(lab, TABLE8, {f"b = {batch}": {"batch": batch} for batch in BATCHES})


def _figure2(lab: Lab) -> Findings:
    lines, charts = [], []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        lookup = Lookup(lab, benchmark, errors=True)
        known = KnownCells(benchmark.space, lookup.known)
        growths = [taken.rule.growth(taken.judge.steps()) for taken in take(lab, benchmark.space, lab.samples)]
        points = []
        for steps in budgets(lab.samples):
            line = lookup.mean(f"{NASI}, {steps} steps", [known.best(grown[steps - 1]) for grown in growths])
            lines.append(line)
            points += [(float(steps), line.ours.value)] if line.ours else []
        lines += lookup.controls()
        if points:
            chart = draw_svg(Lines("steps", "mean error, %", [Line(NASI, points)]))
            charts.append((f"Error of the cell found, {benchmark.name}", str(chart)))
    return Findings(tuple(lines), tuple(few_seeds_remark(lab)), tuple(charts))


def budgets(steps: int) -> list[int]:
    """Return numbers of steps, each about twice the one before; the last is that of the whole search."""
    found = [steps]
    while found[0] > 1:
        found.insert(0, found[0] // 2)
    return found


def _table4(lab: Lab) -> Findings:
    lines: list[Finding] = []
    costs: list[str] = []
    for group in lab.data.by_table(NB201_TEST):
        names = {lab.samples // LONGER: "T", lab.samples: f"{LONGER}T"}
        by_budget = {steps: search(lab, group[0].space, steps) for steps in names}
        costs += map(str, by_budget.values())
        for benchmark in group:
            lookup = Lookup(lab, benchmark)
            for steps, budget in names.items():
                found, said = by_budget[steps].architectures, TABLE4.at(budget, benchmark.name)
                lines += _by_method(lookup, found, f"{steps} steps", said)
            lines += lookup.controls()
    return Findings(tuple(lines), (*few_seeds_remark(lab), _computing(costs)))


def _by_method(
    lookup: Lookup, found: Mapping[str, Sequence[str]], how: str, published: Published | None
) -> list[Finding]:
    """Return a finding for each method. The published figure is that of NASI itself."""
    return [
        lookup.mean(f"{method}, {how}", architectures, published if method == NASI else None)
        for method, architectures in found.items()
    ]


def _figure6(lab: Lab) -> Findings:
    lines: list[Finding] = []
    for group in lab.data.by_table(NB201_TEST):
        searches = list(take(lab, group[0].space, lab.samples, variant="fix", nu=0.0, mu="1"))
        for benchmark in group[:1]:
            lookup = Lookup(lab, benchmark)
            for mu in MUS:
                for factor in NU_FACTORS:
                    found = [swept(taken, factor, float(mu)) for taken in searches]
                    lines.append(lookup.mean(f"{NASI}, mu = {mu}, nu = {factor:g} times that of Eq. 40", found))
            lines.append(lookup.mean(f"{NASI}, no bound (mu = 0)", [swept(taken, 1.0, 0.0) for taken in searches]))
            lines += lookup.controls()
    return Findings(tuple(lines), tuple(few_seeds_remark(lab)))


def swept(taken: Taken, factor: float, mu: float) -> str:
    """Return what the steps lead to with another mu, and a multiple of nu."""
    rule = replace(taken.rule, mu=mu, nu=factor * taken.rule.nu)
    return taken.architecture(rule.growth(taken.judge.steps())[-1])


def _computing(costs: list[str]) -> str:
    return f"Computing time on one core, per search: {'; '.join(costs) or 'none'}."


nasi_table2 = Experiment(
    "nasi-table2",
    (TABLE2,),
    "what a search finds with true labels, random labels and random data",
    ONE_SHOT,
    samples=16,
    run=_table2,
    remarks=(
        EACH_SEED,
        LOOKED_UP,
        KNOWN,
        ONE_SHOT_NETWORKS,
        CONTROLS,
        "The published errors of DARTS need networks trained on GPUs.",
    ),
    seeds=10,
    sampled=("steps",),
    skeletons=SMALLER,
    algorithm=ON_ONE_SHOT,
)
nasi_table6 = replace(
    nasi_table2,
    name="nasi-table6",
    answers=(TABLE6,),
    shows="what a search finds with one-shot networks of 2 to 32 channels",
    samples=10,
    run=_table6,
    remarks=nasi_table2.remarks[:-1],
)
nasi_table8 = replace(
    nasi_table6,
    name="nasi-table8",
    answers=(TABLE8,),
    shows="what a search finds with batches of 8 to 128 images",
    run=_table8,
)
nasi_figure2 = replace(
    nasi_table2,
    name="nasi-figure2",
    answers=(FIGURE2,),
    shows="what a search has found after more and more steps",
    run=_figure2,
    remarks=nasi_table2.remarks[:-1],
)
nasi_table4 = replace(
    nasi_table2,
    name="nasi-table4",
    answers=(TABLE4,),
    shows="what a search finds with two budgets",
    needs=NB201_TEST,
    samples=100,
    run=_table4,
    remarks=(
        EACH_SEED,
        "The paper's budgets are 30 s (T) and 120 s (4T) on a GPU. Ours are steps, "
        f"{LONGER} times as many in the longer search. The paper does not say which mu and nu it uses here: mu is 1 by "
        "its rule for small spaces, and nu the mean over 50 random paths (Eq. 40).",
        "nasi-ridge is a ridge regression of ln T on the same steps, and not part of the paper.",
        CONTROLS,
    ),
    skeletons={},
    algorithm="nasi:batch=16",
)
nasi_figure6 = replace(
    nasi_table4,
    name="nasi-figure6",
    answers=(FIGURE6,),
    shows="what a search finds with other mu and nu, from the same steps",
    run=_figure6,
    remarks=(EACH_SEED, CONTROLS),
)
