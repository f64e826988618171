"""Dextr (Asthana et al., TMLR 2025): the curvature of DARTS networks, and that of rounding errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from firstlight.core.seeds import python_generator
from firstlight.papers.base import CURVATURE, FIGURE, SHARE, Finding, Findings
from firstlight.papers.dextr_tables import DEXTR
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.picked import scores_of
from firstlight.probe import Probe
from firstlight.probe.curvature import OutputJet, curvature
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting

A8 = DEXTR["a8"]
SPACE = "darts"
COLUMN = A8.columns[0]


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


def _a8(lab: Lab) -> Findings:
    setting = lab.setting(SPACE)
    rng = python_generator(lab.seeds[0], "genotypes")
    texts = list({str(setting.space.sample(rng)): None for _ in range(lab.samples)})
    scores = scores_of(lab, setting, texts, RawCurvature())
    kinds = {"output does not move": True, "output moves": False}
    still = [score.parts["still"] for score in scores]
    lines: list[Finding] = [lab.mean("share of networks whose output does not move", SPACE, still, None, SHARE)]
    for on, wanted in kinds.items():
        chosen = [score for score in scores if bool(score.parts["still"]) == wanted]
        published = A8.at("all three", COLUMN)
        ours = lab.mean(COLUMN, on, [score.value for score in chosen], published, CURVATURE)
        shrinkage = [math.log10(score.parts["shrinkage"]) for score in chosen]
        lines += [ours, lab.mean("log10 of the velocity in float64 / float32", on, shrinkage, None, FIGURE)]
    return Findings(tuple(lines))


dextr_a8 = Experiment(
    "dextr-a8",
    (A8,),
    "the size of rounding errors that pass for a curvature",
    (),
    samples=60,
    run=_a8,
    remarks=(
        "The paper measures the three networks of Figure 4, ours are random genotypes, in float32 and at the size of "
        "the images, as in the published code. A network's output does not move if BatchNorm takes the mean of every "
        "channel of the image and only pooling follows.",
    ),
)
