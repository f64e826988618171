"""Dextr (Asthana et al., TMLR 2025): singular values of feature maps, layer by layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from firstlight.papers.base import SHARE, Finding, Findings
from firstlight.papers.benchmarks import NB101, NB201_C10, NB301
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.picked import best_and_worst, scores_of
from firstlight.papers.published import read_paper
from firstlight.probe import Probe
from firstlight.probe.features import Modules
from firstlight.probe.spectra import InverseCondition, LargestSingularValue, split_vectors
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

DEXTR = read_paper("dextr")
TABLE5, FIGURE3 = DEXTR["table5"], DEXTR["figure3"]
TABLE5_ON = (NB101, NB201_C10, NB301)
DEPTHS = 10
LAST_MAP = "last feature map"
COUNTED: dict[str, Modules] = {"all module outputs, as Dextr counts them": "all", "layers": "leaf"}
PARTS = {
    "depth0": "first tenth of the layers",
    f"depth{DEPTHS // 2}": "middle",
    f"depth{DEPTHS - 1}": "last tenth",
    "last_map": LAST_MAP,
    "vector": "vectors behind it",
}


@dataclass(frozen=True)
class LargeMaps:
    """The share of module outputs whose largest singular value is 1 or more, which Lemma 1 requires of layers."""

    modules: Modules
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        probe = Probe(setting.build(architecture), setting.inputs.batches, seed=setting.seed)
        found = probe.feature_statistic(LargestSingularValue(), modules=self.modules)
        return Parts(float((found.values >= 1).double().mean()), layers=len(found.values))


@dataclass(frozen=True)
class LayerRatios:
    """sigma_min / sigma_max of the outputs of all layers: means over tenths of the depth, and of the last outputs.

    `last_map` is the ratio of the last feature map. The vectors behind it have one singular value, so that their ratio,
    `vector`, is 1.
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
    for (benchmark,) in lab.data.by_table(TABLE5_ON):
        setting = lab.setting(benchmark.space)
        texts = lab.sample([benchmark], setting).rows["canonical"].tolist()
        published = TABLE5.at("share of layers", benchmark.name)
        for name, modules in COUNTED.items():
            scores = lab.measured(setting, texts, LargeMaps(modules))
            classes = [text for text in texts if scores[text].ok]
            shares = [scores[text].value for text in classes]
            found.append(lab.mean(f"share of {name}", benchmark.name, shares, published, SHARE, classes=classes))
    return Findings(tuple(found))


def _layers(lab: Lab) -> Findings:
    setting = lab.setting(NB201_C10.space)
    found: list[Finding] = []
    drawn: list[Line] = []
    charts: tuple[tuple[str, str], ...] = ()
    for kind, texts in best_and_worst(lab, NB201_C10).items():
        scores = scores_of(lab, setting, texts, LayerRatios())
        for part, name in PARTS.items():
            values = [score.parts[part] for score in scores if math.isfinite(score.parts[part])]
            published = FIGURE3.at(name, "all networks") if name == LAST_MAP else None
            found.append(lab.mean(name, f"{kind} networks", values, published, SHARE))
        for score in scores:
            known = [(number + 1.0, score.parts[f"depth{number}"]) for number in range(DEPTHS)]
            points = [(x, y) for x, y in known if math.isfinite(y)]
            drawn.append(Line(f"{kind} network", points, series=2 if kind == "worst" else 1))
    if drawn:
        chart = str(draw_svg(Lines("tenth of the depth", "sigma_min / sigma_max", drawn)))
        charts = (("Best networks, and worst in the other color", chart),)
    return Findings(tuple(found), (), charts)


dextr_table5 = Experiment(
    "dextr-table5",
    (TABLE5,),
    "the share of layers whose largest singular value is 1 or more (Lemma 1)",
    TABLE5_ON,
    samples=200,
    run=_table5,
    remarks=("sigma_max is that of the feature map of one image, channels by positions.",),
)
dextr_layers = Experiment(
    "dextr-layers",
    (FIGURE3,),
    "how independent channels are from layer to layer, in good and bad networks",
    (NB201_C10,),
    samples=40,
    run=_layers,
    remarks=("A vector has one singular value, so that its ratio is 1 by definition, in the published code as well.",),
    chosen="picked",
)
