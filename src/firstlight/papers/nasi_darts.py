"""NASI (Shu et al., ICLR 2022): the size of the networks that its search finds in DARTS. Nothing is trained."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from firstlight.core.seeds import derive
from firstlight.core.statistics import Estimate
from firstlight.papers.base import MACS, PARAMETERS, Finding, Findings, Published
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.nasi_search import Taken, take
from firstlight.papers.published import read_paper
from firstlight.probe.cost import Cost
from firstlight.search.algorithms.nasi import Rule
from firstlight.spaces import SPACES
from firstlight.spaces.darts.genotypes import CHOICES, Cell, Genotype
from firstlight.spaces.darts.network import DartsSkeleton

PAPER = read_paper("nasi")
TABLE1, TABLE5, FIGURE4, FIGURE5 = PAPER["table1"], PAPER["table5"], PAPER["figure4"], PAPER["figure5"]
SPACE = "darts"
# The networks that the paper trains
CIFAR = DartsSkeleton(channels=36, cells=20)
IMAGENET = DartsSkeleton((3, 224, 224), 1000, channels=46, cells=14, stem_stride=8)
MILLION = 1e6
RULES = {"NASI-FIX": Rule("fix", mu=2.0, nu=100.0), "NASI-ADA": Rule("ada", mu=2.0, nu=500.0)}
RANDOM = 300


def _run(lab: Lab) -> Findings:
    lines: list[Finding] = []
    for name in RULES:
        lines += _sizes(lab, name, "operations of Figure 5", of_figure5(name))
    remarks = []
    for seed, taken in zip(lab.seeds, take(lab, SPACE, lab.samples), strict=True):
        on = f"seed {seed}"
        for name, rule in RULES.items():
            genotype = found(taken, rule)
            lines += _sizes(lab, name, on, genotype)
            remarks.append(f"{name}, {on}: {genotype}.")
        for row in FIGURE4.rows:
            for column in FIGURE4.columns:
                rule = Rule("fix", mu=_number(row), nu=_number(column))
                published = FIGURE4.at(row, column)
                size = _cost(found(taken, rule), CIFAR).params / MILLION
                lines.append(_known(f"{row}, {column}: parameters, M, on CIFAR", on, size, published))
        traces = taken.judge.steps().traces
        low, middle, high = np.percentile(traces, [25, 50, 75])
        remarks.append(
            f"T of the {len(traces)} steps of {on} has the mean {traces.mean():.4g}, the quartiles {low:.4g}, "
            f"{middle:.4g} and {high:.4g}, and the maximum {traces.max():.4g}. They took {taken.judge.seconds:.0f} s."
        )
    return Findings((*lines, *_control(lab)), tuple(remarks))


def found(taken: Taken, rule: Rule) -> Genotype:
    """Return the genotype that steps lead to by a rule."""
    genotype = taken.judge.architecture(rule.growth(taken.judge.steps())[-1])
    assert isinstance(genotype, Genotype)
    return genotype


def of_figure5(name: str) -> Genotype:
    """Return a genotype with the operations of a published one; its size depends on little else than these."""
    return Genotype(*(_cell_of(f"{name} {kind}") for kind in ("normal", "reduction")))


def _cell_of(column: str) -> Cell:
    counts = {name: FIGURE5.at(name, column) for name in CHOICES}
    names = [name for name, count in counts.items() if count for _ in range(int(count.low))]
    return Cell(tuple((name, number % 2) for number, name in enumerate(names)))


def _sizes(lab: Lab, name: str, on: str, genotype: Genotype) -> Iterator[Finding]:
    cifar, imagenet = _cost(genotype, CIFAR), _cost(genotype, IMAGENET)
    row = f"{name} (C10)"
    published = TABLE1.at(name, "C10 parameters, M")
    yield _known(f"{name}: parameters, M, on CIFAR", on, cifar.params / MILLION, published)
    published = TABLE5.at(row, "parameters, M")
    yield _known(f"{name}: parameters, M, on ImageNet", on, imagenet.params / MILLION, published)
    macs, published = imagenet.macs / MILLION, TABLE5.at(row, "multiply-adds, M")
    yield Finding(f"{name}: multiply-adds, M, on ImageNet", on, Estimate(macs, macs, macs), published, MACS)


def _known(what: str, on: str, size: float, published: Published | None) -> Finding:
    return Finding(what, on, Estimate(size, size, size), published, PARAMETERS)


def _control(lab: Lab) -> Iterator[Finding]:
    space, rng = SPACES[SPACE], random.Random(derive(lab.seeds[0], "random genotypes"))
    sizes = [_cost(space.sample(rng), CIFAR).params / MILLION for _ in range(RANDOM)]
    quartiles = ", ".join(f"{value:.2f}" for value in np.percentile(sizes, [25, 50, 75, 100]))
    line = lab.mean("control: random genotypes: parameters, M, on CIFAR", "DARTS", sizes)
    yield Finding(line.what, line.on, line.ours, note=f"{line.note}; quartiles and maximum {quartiles}")


def _cost(genotype: object, skeleton: DartsSkeleton) -> Cost:
    return SPACES[SPACE].cost(genotype, skeleton)


def _number(text: str) -> float:
    return float(text.rpartition(" ")[2])


nasi_darts = Experiment(
    "nasi-darts",
    (TABLE1, FIGURE4, FIGURE5, TABLE5),
    "the size of the networks that a search finds in DARTS",
    (),
    samples=100,
    run=_run,
    remarks=(
        "Networks have 36 channels and 20 cells on CIFAR, and 46 channels and 14 cells on ImageNet, without the "
        "auxiliary head. Their errors need training on GPUs; `firstlight reproduce darts-small` trains small versions.",
        "Each seed is one search. The rules use the same steps.",
        "The lines on the operations of Figure 5 are genotypes with the published operations, in any order.",
    ),
    sampled=("steps",),
    algorithm="nasi",
)
