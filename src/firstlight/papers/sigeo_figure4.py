"""SiGeo (Zheng et al., 2023), Figure 4: the best click networks by the proxy and by its terms, as box plots."""

from __future__ import annotations

import math

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.evaluation.retraining import at_random
from firstlight.options import Limits
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.sigeo_clicks import (
    BY_CODE,
    FIGURES,
    PAPER,
    RANDOM,
    SMALL,
    Method,
    adapted,
    changes,
    found_by,
    places_of,
    setting_of,
    train_from_scratch,
)
from firstlight.papers.sigeo_clicks import PROXIES as SEARCHED_BY
from firstlight.training.retrained import Kind
from firstlight.views.charts.description import Boxes, five_numbers
from firstlight.views.charts.svg import draw_svg

TOP = 15
PROXIES = {name: proxy for name, proxy in SEARCHED_BY.items() if name != BY_CODE}


def _figure4(lab: Lab) -> Findings:
    if len(lab.warm_ups) > 1 or len(lab.seeds) > 1:
        raise SettingError(
            "sigeo-figure4 has one box for each proxy: give a single warm-up (--warmup 1%) and one seed (--seed 0)."
        )
    (warm_up,) = lab.warm_ups
    lines, charts = list[Finding](), list[tuple[str, str]]()
    seed = lab.seeds[0]
    remarks = dict.fromkeys(
        [
            f"Each proxy scores {lab.samples} networks. The {TOP} best by each proxy, and {TOP} at random, are trained "
            "from scratch. Figures are of the test part, with the interval of the median over networks."
        ]
    )
    for place in places_of(lab, "sigeo-figure4"):
        methods = [Method(name, proxy, warm_up, adapted(warm_up, place.rows)) for name, proxy in PROXIES.items()]
        chosen = {method.name: found_by(lab, place, method, seed, TOP)[0] for method in methods}
        chosen[RANDOM] = list(at_random(setting_of(lab, place), Limits(), seed, TOP))
        networks: list[tuple[str, Kind]] = [(text, "found") for texts in chosen.values() for text in texts]
        standings = {standing.name: standing for standing in train_from_scratch(lab, place, networks, seed).standings}
        for what, figure in FIGURES.items():
            reached = {
                name: [value for text in texts if (value := standings[text].mean("test", figure)) is not None]
                for name, texts in chosen.items()
            }
            for name, values in reached.items():
                ours = lab.estimate(lambda column: float(np.median(column)), np.array(values))
                low, high = five_numbers(values)[1::2] if values else (math.nan, math.nan)
                note = f"{len(values)} networks, quartiles {low:.4f} and {high:.4f}"
                lines.append(Finding(f"{name}: median {what}", place.title, ours, note=note))
            charts.append((place.title, str(draw_svg(Boxes(what, reached)))))
        remarks |= dict.fromkeys(changes(place, methods))
    return Findings(tuple(lines), tuple(remarks), tuple(charts))


sigeo_figure4 = Experiment(
    "sigeo-figure4",
    (PAPER["figure4"],),
    "how good the 15 best click networks by SiGeo, by its terms and by the loss are",
    (),
    samples=48,
    run=_figure4,
    warm_ups=("1%",),
    space=SMALL,
)
