"""Dextr (Asthana et al., TMLR 2025): output curves, and how much the score depends on the input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import ClassVar, Literal

import numpy as np

from firstlight.core.errors import UnsupportedError
from firstlight.core.statistics import spearman
from firstlight.papers.base import CORRELATION, SCORE, SPREAD, Finding, Findings
from firstlight.papers.benchmarks import NB201_C10, NB201_VALIDATION
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.picked import best_and_worst, nearest, scores_of
from firstlight.papers.published import read_paper
from firstlight.probe import Probe
from firstlight.probe.curvature import bending, principal_components
from firstlight.proxies.base import Parts, Score
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import Setting
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

DEXTR = read_paper("dextr")
FIGURE1, FIGURE2 = DEXTR["figure1b"], DEXTR["figure2"]
# The accuracies that the paper's script reads
VALIDATION = NB201_VALIDATION[0]
# The most that the published code can take
POINTS = 128
AXES = ("first", "second", "third")
# The number of curves that are drawn of each kind
DRAWN = 2
DRAWS = NETWORKS = 10


@dataclass(frozen=True)
class CurveShape:
    """The output along a circle of inputs, in its first three principal components and scaled to unit size.

    The value is the length of the curve, relative to a circle of the same mean square radius: 1 for a circle, and more
    the more the curve bends.
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
    """The standard deviation of a proxy over draws of the input (image and circle), or of weights and input."""

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
        scores = scores_of(lab, setting, texts, CurveShape(POINTS))
        on = f"{kind} networks"
        shares = [score.parts["share"] for score in scores]
        found.append(lab.mean("length of the curve, relative to a circle", on, [score.value for score in scores]))
        found.append(lab.mean("variance in three components", on, shares))
        drawn += [(kind, score) for score in scores[:DRAWN]]
    charts = []
    for x, y in ((0, 1), (0, 2), (1, 2)):
        curves = [_line(kind, score, AXES[x], AXES[y]) for kind, score in drawn]
        chart = draw_svg(Lines(f"{AXES[x]} component", f"{AXES[y]} component", curves)) if curves else ""
        title = f"{AXES[x].capitalize()} and {AXES[y]} component: best networks, and worst in the other color"
        charts.append((title, str(chart)))
    return Findings(tuple(found), (), tuple(charts))


def _line(kind: str, score: Score, x: str, y: str) -> Line:
    points = [
        (score.parts[f"{x}{number % POINTS}"], score.parts[f"{y}{number % POINTS}"]) for number in range(POINTS + 1)
    ]
    return Line(f"{kind} network", points, tooltip=f"{kind} network", series=2 if kind == "worst" else 1)


def _stability(lab: Lab) -> Findings:
    setting = replace(lab.setting(VALIDATION.space), repeats=DRAWS)
    found, ends = [], []
    for row in FIGURE2.rows:
        accuracy = FIGURE2.at(row, "accuracy, %")
        assert accuracy is not None  # it is what the network is found by
        ends.append(accuracy.low)
        texts, on = nearest(lab, VALIDATION, accuracy.low), f"networks of {accuracy} %"
        of_inputs, of_all = (
            scores_of(lab, setting, texts, ScoreSpread("dextr:variant=official", of))
            for of in ("inputs", "weights and inputs")
        )
        means, deviations = [score.parts["mean"] for score in of_inputs], [score.value for score in of_inputs]
        over_inputs = FIGURE2.at(row, "standard deviation over inputs")
        found += [
            lab.mean("Dextr", on, means, FIGURE2.at(row, "Dextr"), SCORE),
            lab.mean("deviation over inputs", on, deviations, over_inputs, SPREAD),
            lab.mean("deviation over weights and inputs", on, [score.value for score in of_all]),
        ]
    lines, chart = _ten_networks(lab, setting, *ends)
    return Findings((*found, *lines), (), ((f"Dextr of {NETWORKS} networks, with its deviation over inputs", chart),))


def _ten_networks(lab: Lab, setting: Setting, low: float, high: float) -> tuple[list[Finding], str]:
    """Measure networks of evenly spaced accuracies, as in the figure."""
    wanted = np.linspace(low, high, NETWORKS)
    texts = [nearest(lab, VALIDATION, float(accuracy))[0] for accuracy in wanted]
    scores = lab.measured(setting, texts, ScoreSpread("dextr:variant=official", "inputs"))
    known = [(float(accuracy), scores[text]) for accuracy, text in zip(wanted, texts, strict=True) if scores[text].ok]
    on = f"{NETWORKS} networks of {low:g} to {high:g} %"
    points, deviations = [(accuracy, score.parts["mean"]) for accuracy, score in known], [s.value for _, s in known]
    over_inputs = FIGURE2.at(next(iter(FIGURE2.rows)), "standard deviation over inputs")
    order = lab.estimate(spearman, *map(np.array, zip(*points, strict=True)))
    lines = [
        lab.mean("deviation over inputs", on, deviations, over_inputs, SPREAD),
        Finding("correlation of mean Dextr with accuracy", on, order, None, CORRELATION, f"{len(points)} networks"),
    ]
    return lines, str(draw_svg(Lines("accuracy, %", "Dextr", [Line("mean", points, deviations=deviations)])))


dextr_figure1 = Experiment(
    "dextr-figure1",
    (FIGURE1,),
    "output curves of good and bad networks in their first three principal components",
    (NB201_C10,),
    samples=24,
    run=_figure1,
    remarks=("Each curve is scaled to a mean square radius of 1.",),
    chosen="picked",
)
dextr_stability = Experiment(
    "dextr-stability",
    (FIGURE2,),
    "how much Dextr depends on the input and on the weights",
    (VALIDATION,),
    samples=24,
    run=_stability,
    remarks=(
        f"Each network is measured with {DRAWS} draws of image and circle.",
        "The paper's code builds networks with biases in convolutions and BatchNorm without gain. Ours are those of "
        "the benchmark, which may explain lower scores.",
    ),
    chosen="picked",
)
