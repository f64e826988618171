"""Dextr (Asthana et al., TMLR 2025): singular values of feature maps, layer by layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from firstlight.papers.base import SHARE, Experiment, Finding, Findings, Published
from firstlight.papers.benchmarks import NB101, NB201_C10, NB301
from firstlight.papers.groups import best_and_worst, mean_of, measured
from firstlight.papers.lab import Lab, same_table
from firstlight.probe import Probe
from firstlight.probe.features import Modules
from firstlight.probe.spectra import InverseCondition, LargestSingularValue, split_vectors
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

PAPER = "Asthana2025dextr"
TABLE5 = {"NB101": 0.9918, "NB201 CIFAR-10": 0.9001, "NB301": 0.9951}
DEPTHS = 10
LAST_TO_ZERO = Published("Dextr Figure 3", 0.0, 0.0)


@dataclass(frozen=True)
class LargeMaps:
    """The share of module outputs whose largest singular value is 1 or more: what Lemma 1 asks of layers."""

    modules: Modules
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        probe = Probe(setting.build(architecture), setting.inputs.batches, seed=setting.seed)
        found = probe.feature_statistic(LargestSingularValue(), modules=self.modules)
        return Parts(float((found.values >= 1).double().mean()), layers=len(found.values))


@dataclass(frozen=True)
class LayerRatios:
    """sigma_min / sigma_max of the outputs of all layers, as means over tenths of the depth; and of the last ones.

    Vectors, which come last in networks that classify, have one singular value and a ratio of 1: `vector` is theirs,
    `last_map` that of the last output before them.
    """

    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        probe = Probe(setting.build(architecture), setting.inputs.batches, seed=setting.seed)
        ratios = probe.feature_statistic(InverseCondition(), modules="leaf").values.tolist()
        maps, vectors = split_vectors(ratios)
        parts = np.array_split(np.array(maps), DEPTHS)
        means = {f"depth{number}": float(part.mean()) if len(part) else math.nan for number, part in enumerate(parts)}
        vector = float(np.mean(vectors)) if vectors else math.nan
        return Parts(float(np.mean(maps)), note="", last_map=maps[-1], vector=vector, **means)


def _table5(lab: Lab) -> Findings:
    found = []
    named: tuple[tuple[str, Modules], ...] = (("all module outputs, as Dextr counts them", "all"), ("layers", "leaf"))
    for (benchmark,) in same_table(lab.shelf, (NB101, NB201_C10, NB301)):
        setting = lab.setting(benchmark.space)
        classes = lab.sample([benchmark], setting).rows["canonical"].tolist()
        published = Published.value("Dextr Table 5", TABLE5[benchmark.name])
        for name, modules in named:
            scores = lab.measured(setting, classes, LargeMaps(modules))
            shares = [scores[text].value for text in classes if scores[text].ok]
            alike = [text for text in classes if scores[text].ok]
            found.append(mean_of(lab, f"share of {name}", benchmark.name, shares, published, SHARE, alike=alike))
    return Findings(tuple(found), ("sigma_max is that of the feature map of one image, channels by positions.",))


def _layers(lab: Lab) -> Findings:
    setting = lab.setting(NB201_C10.space)
    found: list[Finding] = []
    drawn: list[Line] = []
    charts: tuple[tuple[str, str], ...] = ()
    for kind, texts in best_and_worst(lab, NB201_C10).items():
        scores = measured(lab, setting, texts, LayerRatios())
        for part, name, published in (
            ("depth0", "first tenth of the layers", None),
            (f"depth{DEPTHS // 2}", "middle", None),
            (f"depth{DEPTHS - 1}", "last tenth", None),
            ("last_map", "last feature map", LAST_TO_ZERO),
            ("vector", "vectors behind it", None),
        ):
            values = [score.parts[part] for score in scores if math.isfinite(score.parts[part])]
            found.append(mean_of(lab, name, f"{kind} networks", values, published, SHARE))
        for score in scores:
            known = [(number + 1.0, score.parts[f"depth{number}"]) for number in range(DEPTHS)]
            points = [(x, y) for x, y in known if math.isfinite(y)]
            drawn.append(Line(f"{kind} network", points, series=2 if kind == "worst" else 1))
    if drawn:
        chart = str(draw_svg(Lines("tenth of the depth", "sigma_min / sigma_max", drawn)))
        charts = (("Best and worst networks", chart),)
    remarks = (
        "sigma_min / sigma_max of the output of each layer. The paper writes that it falls to zero in the last layers; "
        "it gives no numbers.",
        "A vector has one singular value, so that its ratio is 1 by definition, in the published code as well.",
    )
    return Findings(tuple(found), remarks, charts)


dextr_table5 = Experiment(
    "dextr-table5",
    "Dextr Table 5 (Lemma 1)",
    PAPER,
    "the share of layers whose largest singular value is 1 or more",
    (NB101, NB201_C10, NB301),
    samples=200,
    run=_table5,
)
dextr_layers = Experiment(
    "dextr-layers",
    "Dextr Figure 3",
    PAPER,
    "how independent channels are from layer to layer, in good and bad networks",
    (NB201_C10,),
    samples=40,
    run=_layers,
    chosen="picked",
)
