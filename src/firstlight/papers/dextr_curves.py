"""Dextr (Asthana et al., TMLR 2025): output curves, and how much a score depends on its input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import ClassVar, Literal

from firstlight.core.errors import UnsupportedError
from firstlight.papers.base import SCORE, SPREAD, Experiment, Findings, Published
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.groups import best_and_worst, mean_of, measured, nearest
from firstlight.papers.lab import Lab
from firstlight.probe import Probe
from firstlight.probe.curvature import bending, principal_components
from firstlight.proxies.base import Parts, Score
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import Setting
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

PAPER = "Asthana2025dextr"
# As many as the published code can take
POINTS = 128
AXES = ("first", "second", "third")
# How many curves of each kind are drawn
DRAWN = 2
DRAWS = 5
# Figure 2: accuracy of a network and its score, and how far inputs change one
SCORES = {56.19: 1.32, 89.9: 2.34}
OVER_INPUTS = Published("Dextr Figure 2", 0.01, 0.05)


@dataclass(frozen=True)
class CurveShape:
    """The output along a circle of inputs in its first three principal components, brought to unit size.

    The value is the curve's length in units of a circle of the same mean square radius: 1 for a circle, more the more
    it bends.
    """

    points: int
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        probe = Probe(setting.build(architecture), setting.inputs.batches, seed=setting.seed)
        places, share = principal_components(probe.output_curve(self.points))
        named = {
            f"{axis}{number}": float(places[number, column])
            for number in range(self.points)
            for column, axis in enumerate(AXES)
        }
        return Parts(bending(places), note="", share=share, **named)


@dataclass(frozen=True)
class ScoreSpread:
    """The deviation of a proxy over so many draws of the input (image and circle), or of weights and input together."""

    proxy: str
    of: Literal["inputs", "weights and inputs"]
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        request = ProxyRequest.parse(self.proxy)
        values = []
        for draw in setting.draws:
            network = (setting.draws[0] if self.of == "inputs" else draw).build(architecture)
            score = request.measure(Probe(network, draw.inputs.batches, seed=draw.seed))
            if not score.ok:
                raise UnsupportedError(f"{self.proxy}: {score.note}")
            values.append(score.value)
        return Parts(stdev(values), mean=fmean(values))


def _figure1(lab: Lab) -> Findings:
    setting = lab.setting(NB201_C10.space)
    found, drawn = [], []
    for kind, texts in best_and_worst(lab, NB201_C10).items():
        scores = measured(lab, setting, texts, CurveShape(POINTS))
        on = f"{kind} networks"
        found.append(mean_of(lab, "length of the curve, a circle's being 1", on, [s.value for s in scores]))
        shares = [score.parts["share"] for score in scores]
        found.append(mean_of(lab, "variance in three components", on, shares))
        drawn += [(kind, score) for score in scores[:DRAWN]]
    charts = []
    for x, y in ((0, 1), (0, 2), (1, 2)):
        curves = [_line(kind, score, AXES[x], AXES[y]) for kind, score in drawn]
        chart = draw_svg(Lines(f"{AXES[x]} component", f"{AXES[y]} component", curves)) if curves else ""
        charts.append((f"{AXES[x].capitalize()} and {AXES[y]} component", str(chart)))
    remark = "Our records have no figures of this plot. Each curve is brought to a mean square radius of 1."
    return Findings(tuple(found), (remark,), tuple(charts))


def _line(kind: str, score: Score, x: str, y: str) -> Line:
    points = [
        (score.parts[f"{x}{number % POINTS}"], score.parts[f"{y}{number % POINTS}"]) for number in range(POINTS + 1)
    ]
    return Line(f"{kind} network", points, tooltip=f"{kind} network", series=2 if kind == "worst" else 1)


def _stability(lab: Lab) -> Findings:
    setting = replace(lab.setting(NB201_C10.space), repeats=DRAWS)
    found = []
    for accuracy, score in SCORES.items():
        texts, on = nearest(lab, NB201_C10, accuracy), f"networks of {accuracy:g} %"
        of_inputs, of_all = (
            measured(lab, setting, texts, ScoreSpread("dextr:variant=official", of))
            for of in ("inputs", "weights and inputs")
        )
        means = [entry.parts["mean"] for entry in of_inputs]
        published = Published.value("Dextr Figure 2", score)
        found += [
            mean_of(lab, "Dextr", on, means, published, SCORE),
            mean_of(lab, "deviation over inputs", on, [s.value for s in of_inputs], OVER_INPUTS, SPREAD),
            mean_of(lab, "deviation over weights and inputs", on, [s.value for s in of_all]),
        ]
    remarks = (
        f"{DRAWS} draws of image and circle for each network. Which networks the paper took is not in our records; "
        "these are the nearest by accuracy, and the figures are means over them.",
    )
    return Findings(tuple(found), remarks)


dextr_figure1 = Experiment(
    "dextr-figure1",
    "Dextr Figure 1",
    PAPER,
    "output curves of good and bad networks in their first three principal components",
    (NB201_C10,),
    samples=24,
    run=_figure1,
    chosen="picked",
)
dextr_stability = Experiment(
    "dextr-stability",
    "Dextr Figure 2",
    PAPER,
    "how much Dextr depends on the input and on the weights",
    (NB201_C10,),
    samples=24,
    run=_stability,
    chosen="picked",
)
