"""Dextr (Asthana et al., TMLR 2025): the curvature of DARTS networks, and that of rounding errors."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from firstlight.core.seeds import python_generator
from firstlight.papers.base import CURVATURE, SHARE, Finding, Findings
from firstlight.papers.dextr_tables import DEXTR
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.picked import scores_of
from firstlight.probe import Probe
from firstlight.probe.curvature import OutputJet, curvature
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.spaces.darts.genotypes import CHOICES, Cell, Genotype

A8 = DEXTR["a8"]
SPACE = "darts"
COLUMN = A8.columns[0]
WITHOUT_POOLING = "genotypes without pooling"
OTHERS = tuple(name for name in CHOICES if "pool" not in name)


@dataclass(frozen=True)
class RawCurvature:
    """The curvature of the output in float32 at the size of the images, whatever it is made of.

    `shrinkage` is the velocity of the output in float64, relative to that in float32: about 1 if the output moves, and
    about 1e-9 if it moves by rounding errors only. `still` says which, as `Probe.output_curvature` decides.
    """

    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        network = setting.build(architecture)
        coarse, fine = (self._jet(network.to(dtype), setting) for dtype in (torch.float32, torch.float64))
        probe = Probe(network.to(torch.float32), setting.inputs.batches, seed=setting.seed)
        still = probe.output_curvature(size=coarse.shape) == math.inf
        shrinkage = float(fine.velocity.norm() / coarse.velocity.norm())
        kappa = curvature(coarse)
        return Parts(math.nan if kappa is None else math.log10(kappa), shrinkage=shrinkage, still=still)

    @staticmethod
    def _jet(network: torch.nn.Module, setting: Setting) -> OutputJet:
        probe = Probe(network, setting.inputs.batches, seed=setting.seed)
        return probe.output_jet(size=tuple(probe.batches[0].image.shape[1:]))


def _without_pooling(genotype: Genotype, rng: random.Random) -> Genotype:
    """Return the genotype with other operations in place of pooling."""

    def changed(cell: Cell) -> Cell:
        edges = [(rng.choice(OTHERS) if "pool" in name else name, source) for name, source in cell.edges]
        return replace(cell, edges=tuple(edges))

    return Genotype(changed(genotype.normal), changed(genotype.reduce))


def _a8(lab: Lab) -> Findings:
    setting = lab.setting(SPACE)
    rng = python_generator(lab.seeds[0], "genotypes")
    drawn = [setting.space.sample(rng) for _ in range(lab.samples)]
    kinds = {
        WITHOUT_POOLING: [str(_without_pooling(genotype, rng)) for genotype in drawn],
        "random genotypes": [str(genotype) for genotype in drawn],
    }
    lines: list[Finding] = []
    for on, texts in kinds.items():
        scores = scores_of(lab, setting, texts, RawCurvature())
        published = A8.at("all three", COLUMN) if on == WITHOUT_POOLING else None
        shrinkage = [math.log10(score.parts["shrinkage"]) for score in scores]
        lines += [
            lab.mean("share whose output does not move", on, [score.parts["still"] for score in scores], None, SHARE),
            lab.mean(COLUMN, on, [score.value for score in scores], published, CURVATURE),
            lab.mean("log10 of the velocity in float64 / float32", on, shrinkage),
        ]
    return Findings(tuple(lines))


dextr_a8 = Experiment(
    "dextr-a8",
    (A8,),
    "the size of rounding errors that pass for a curvature",
    (),
    samples=60,
    run=_a8,
    remarks=(
        "The paper measures the three networks of Figure 4. Ours are random genotypes, and the same with other "
        "operations in place of pooling, like the cell that the paper describes. All are measured in float32, at the "
        "size of the images, as in the published code.",
    ),
)
