"""SiGeo (Zheng et al., 2023): how well proxies rank click networks, under each way to score them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.core.statistics import Numbers, spearman, unscored_last
from firstlight.data.clicks import is_clicks, open_clicks
from firstlight.data.clicks.prepared import path_of
from firstlight.evaluation.contenders import ClickSetting
from firstlight.evaluation.retraining import at_random, retrain
from firstlight.options import Limits
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.sigeo_clicks import BATCHES, NO_CLICKS, TABLE5
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import ScoreService, source_for
from firstlight.search.result import RETRAINED_NAME
from firstlight.training.clicks import click_recipe
from firstlight.training.retrained import Kind
from firstlight.training.shared_warm_up import SharedWarmUp

SPACE = "nasrec-small"
# The proxies by the name of the row. Lambdas are written, so that they are the same with and without training
PROXIES = {
    "SiGeo, lambda3 = 0": "sigeo:lambda1=1:lambda2=1:lambda3=0",
    "SiGeo, lambda3 = 1": "sigeo:lambda1=1:lambda2=1:lambda3=1",
    "SiGeo, published code": "sigeo:lambda1=1:lambda2=1:lambda3=1:variant=official-rec",
    "Fisher-Rao norm": "fr_norm",
    "ZiCo": "zico",
    "-loss": "loss",
    "Jacov": "jacov",
    "#params": "params",
}
SCORING_BATCHES = (64, 512)
TARGETS = {"log loss": ("log_loss", -1), "AUC": ("auc", 1)}
TRAININGS = (0, 1)
# The published 1 % of Criteo is 716 batches of 512 rows
FEWEST_STEPS = 700


@dataclass(frozen=True)
class Way:
    """A way to score networks: with trained shared weights or not, what proxies see, and how many rows."""

    warm_up: SharedWarmUp
    batch_size: int

    @property
    def title(self) -> str:
        seen = "final layer" if self.warm_up.frozen else "all layers"
        return f"{'warm' if self.warm_up.share else 'cold'}, {seen}, batches of {self.batch_size}"


def ways(warm_ups: Sequence[object]) -> list[Way]:
    """Return every combination of a warm-up, frozen layers or not, and a batch size.

    Raises:
        SettingError: If a warm-up is not one of shared weights.
    """
    found = []
    for warm_up in warm_ups:
        if not isinstance(warm_up, SharedWarmUp):
            raise SettingError(f"The warm-up {warm_up} is not one of shared weights. Write 0:weights=shared for none.")
        for frozen, batch_size in itertools.product((True, False), SCORING_BATCHES):
            found.append(Way(replace(warm_up, frozen=frozen), batch_size))
    return found


def _click_ranks(lab: Lab) -> Findings:
    if not is_clicks(lab.images):
        raise MissingFileError(NO_CLICKS.format("sigeo-click-ranks"))
    asked = ways(lab.warm_ups)
    texts = list(dict.fromkeys(at_random(lab.setting(SPACE), Limits(), lab.seeds[0], lab.samples)))
    utilities = {way: scored(lab, way, texts) for way in asked}
    reached = trained(lab, texts)
    lines = []
    for way, columns in utilities.items():
        for name, values in columns.items():
            for target, truth in reached.items():
                ours = lab.estimate(spearman, unscored_last(values), truth)
                unscored = int((~np.isfinite(values)).sum())
                note = f"{unscored} of {len(texts)} without a score rank last" if unscored else ""
                lines.append(Finding(f"{name}: correlation with {target}", way.title, ours, note=note))
    return Findings(tuple(lines), _remarks(lab, asked, len(texts)))


def scored(lab: Lab, way: Way, texts: Sequence[str]) -> dict[str, Numbers]:
    """Return the utilities of networks by each proxy: higher is better, NaN without a score."""
    requests = parse_requests(list(PROXIES.values()))
    source = source_for(requests, lab.images, way.batch_size)
    setting = lab.setting(SPACE, source, warm_up=way.warm_up)
    service = ScoreService(setting, requests, lab.executor, lab.store, lab.callback)
    found = {network.architecture: network for network in service.scores(texts)}
    asked = zip(PROXIES, map(str, requests), strict=True)
    return {name: np.array([found[text].scores[proxy].utility for text in texts]) for name, proxy in asked}


def trained(lab: Lab, texts: Sequence[str]) -> Mapping[str, Numbers]:
    """Train each network from scratch, and return what it reaches on the test part: higher is better."""
    rows = open_clicks(lab.images).rows["train"]
    usual = click_recipe()
    recipe = usual.changed(batch_size=max(2, min(usual.recipe.batch_size, rows // BATCHES)))
    setting = ClickSetting(SPACE, source_name=lab.images, recipe=recipe, skeleton_settings=lab.skeleton)
    folder = None if lab.store.folder is None else lab.store.folder / RETRAINED_NAME
    networks: list[tuple[str, Kind]] = [(text, "random") for text in texts]
    outcome = retrain(setting, networks, lab.executor, seeds=TRAININGS, folder=folder, callback=lab.callback)
    standings = {standing.name: standing for standing in outcome.standings}

    def values(figure: str, sign: int) -> Numbers:
        known = (standings[text].mean("test", figure) for text in texts)
        return np.array([np.nan if value is None else sign * value for value in known])

    return {target: values(figure, sign) for target, (figure, sign) in TARGETS.items()}


def _remarks(lab: Lab, asked: Sequence[Way], networks: int) -> tuple[str, ...]:
    rows = open_clicks(lab.images).rows["train"]
    warm = {way.warm_up for way in asked if way.warm_up.share}
    steps = {int(rows * w.share) // w.recipe.batch_size * w.recipe.epochs for w in warm}
    short = any(count < FEWEST_STEPS for count in steps)
    return (
        f"{networks} random networks of {SPACE} of any size, each trained from scratch with {len(TRAININGS)} seeds on "
        f"{rows:,} rows of {path_of(lab.images).name}. Correlations are positive if a proxy prefers better networks.",
        f"The shared weights were trained for {', '.join(map(str, sorted(steps)))} steps."
        + (f" The paper's 1 % of Criteo is 716: take more rows or epochs for {FEWEST_STEPS}." if short else ""),
        "Without training, networks have the initial shared weights. With `all layers`, proxies see every layer, as in "
        "Eq. 7; with `final layer`, only the last, as in the published code.",
    )


sigeo_click_ranks = Experiment(
    "sigeo-click-ranks",
    (TABLE5,),
    "how well proxies rank click networks, cold and warm, with few and many layers and rows",
    (),
    samples=40,
    run=_click_ranks,
    warm_ups=("0:weights=shared", "100%:weights=shared:epochs=3"),
    space=SPACE,
)
