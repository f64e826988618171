"""SiGeo (Zheng et al., 2023): searches for click-prediction networks with shared weights trained on 0 to 100 %."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from firstlight.core.errors import MissingFileError
from firstlight.core.statistics import Estimate
from firstlight.data.clicks import is_clicks, open_clicks
from firstlight.evaluation.contenders import ClickSetting
from firstlight.evaluation.retraining import at_random, best_distinct, retrain
from firstlight.options import Limits
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.ensembles import after_warm_up, members, parse_criterion
from firstlight.scoring.service import ScoreService, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.search.result import RETRAINED_NAME
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import click_recipe
from firstlight.training.retrained import Kind, Standing
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp

TABLE5 = read_paper("sigeo")["table5"]
SPACE = "nasrec-small"
MOST_PARAMETERS = 1_000_000
LIMITS = Limits(max_params=MOST_PARAMETERS)
# How many of the best networks of a search are trained from scratch, and how many random ones beside them
BEST, AT_RANDOM = 3, 5
SIGEO, ZICO, FISHER_RAO = "SiGeo", "ZiCo", "Fisher-Rao norm alone"
PROXIES = {SIGEO: "sigeo", "SiGeo, published code": "sigeo:variant=official-rec", ZICO: "zico", FISHER_RAO: "fr_norm"}
ONE_SHOT = {"loss (one-shot)": "loss"}
# The published rows of networks by hand
BY_HAND = {"dlrm, by hand": "DLRM", "deepfm, by hand": "DeepFM"}
# The number of steps that a small file must allow
BATCHES = 100
NO_CLICKS = (
    "sigeo-table5 needs click data. Name a file with --input criteo:FILE. `firstlight data prepare` makes it from a "
    "log, and `firstlight data synthesize` makes a synthetic log."
)


@dataclass(frozen=True)
class Method:
    """A proxy, and the training of the shared weights that it scores."""

    name: str
    proxy: str
    warm_up: WarmUp | SharedWarmUp | None

    @property
    def share(self) -> float:
        return self.warm_up.share if self.warm_up else 0.0

    @property
    def published_as(self) -> str:
        """The row of the published table."""
        return f"{self.name}, NASRec-Small, {100 * self.share:g} %"

    @property
    def title(self) -> str:
        return f"{self.name}, {100 * self.share:g} %" if self.warm_up else f"{self.name}, no training"


def _table5(lab: Lab) -> Findings:
    if not is_clicks(lab.images):
        raise MissingFileError(NO_CLICKS)
    methods = [
        Method(name, proxy, warm_up)
        for warm_up in lab.warm_ups
        for name, proxy in (PROXIES | (ONE_SHOT if warm_up and warm_up.share == 1 else {})).items()
    ]
    found: dict[Method, list[Standing]] = {method: [] for method in methods}
    others: dict[str, list[Standing]] = {}
    for seed in lab.seeds:
        best = {method: _search(lab, method, seed) for method in methods}
        networks: list[tuple[str, Kind]] = [(text, "found") for texts in best.values() for text in texts]
        networks += [(text, "random") for text in at_random(lab.setting(SPACE), LIMITS, seed, AT_RANDOM)]
        networks += [(name, "by hand") for name in BASELINES]
        folder = None if lab.store.folder is None else lab.store.folder / RETRAINED_NAME
        outcome = retrain(_training(lab), networks, lab.executor, seeds=(seed,), folder=folder, callback=lab.callback)
        standings = {standing.name: standing for standing in outcome.standings}
        for method, texts in best.items():
            ended = [standings[text] for text in texts if standings[text].ended]
            if ended:  # chosen on the validation part, judged on the test part
                found[method].append(min(ended, key=lambda s: s.mean("validation", "log_loss") or math.inf))
        for name, standing in standings.items():
            if standing.kind == "by hand":
                others.setdefault(f"{name}, by hand", []).append(standing)
            elif standing.kind == "random":
                others.setdefault("networks at random", []).append(standing)
    lines = [line for method in methods for line in _lines(lab, method.title, found[method], method.published_as)]
    lines += [
        line for name, standings in others.items() for line in _lines(lab, name, standings, BY_HAND.get(name, ""))
    ]
    return Findings(tuple(lines), _remarks(lab))


def _search(lab: Lab, method: Method, seed: int) -> list[str]:
    by = parse_criterion(method.proxy)
    if method.warm_up is not None:
        by = after_warm_up(by, "clicks")
    source = source_for(members(by), lab.images)
    setting = lab.setting(SPACE, source, seed=seed, warm_up=method.warm_up)
    service = ScoreService(setting, members(by), lab.executor, lab.store, lab.callback)
    scored = list[tuple[str, float | None]]()
    problem = Problem(
        service,
        Objective(by, LIMITS),
        random.Random(seed),
        lab.samples,
        callback=lambda event: scored.append((event.architecture, event.item.utility)),
    )
    population = max(4, lab.samples // 3)
    with lab.executor.staying():
        AlgorithmRequest.parse(f"evolution:population={population}:tournament={population // 2}:children=4").run(
            problem
        )
    return best_distinct([text for text, _ in scored], [utility for _, utility in scored], BEST)


def _training(lab: Lab) -> ClickSetting:
    rows = open_clicks(lab.images).rows["train"]
    usual = click_recipe()
    recipe = usual.changed(batch_size=max(2, min(usual.recipe.batch_size, rows // BATCHES)))
    return ClickSetting(SPACE, source_name=lab.images, recipe=recipe, skeleton_settings=lab.skeleton)


def _lines(lab: Lab, title: str, standings: Sequence[Standing], published_as: str) -> Iterator[Finding]:
    for what, figure in (("log loss", "log_loss"), ("AUC", "auc")):
        known = [value for standing in standings if (value := standing.mean("test", figure)) is not None]
        yield Finding(f"{title}: {what}", Path(lab.images).name, _mean(known), note=_note(published_as, what))


def _mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean plus and minus two standard errors; None without values."""
    if not values:
        return None
    mean = statistics.fmean(values)
    error = 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Estimate(mean, mean - error, mean + error)


def _note(row: str, what: str) -> str:
    """Return what the paper prints for all of Criteo, if it has the row."""
    return f"published for all of Criteo: {TABLE5.at(row, f'Criteo {what}')}" if row in TABLE5.rows else ""


def _remarks(lab: Lab) -> tuple[str, ...]:
    recipe = _training(lab).recipe
    return (
        f"Figures are of the test part. Each search scores {lab.samples} networks of {SPACE} with at most "
        f"{MOST_PARAMETERS:,} parameters. The {BEST} best are trained from scratch ({recipe}), and the best of these "
        "on the validation part counts. Intervals are two standard errors over the seeds, which draw weights, paths, "
        "networks and the order of rows. They do not cover the choice of test rows.",
        "Without training, each network has its own initial weights. Otherwise it inherits the shared weights after "
        "one pass over the share, and proxies see its final layer, as in the published code. The paper scores 2,048 "
        "networks and trains 15.",
    )


sigeo_table5 = Experiment(
    "sigeo-table5",
    (read_paper("sigeo")["table1"], TABLE5, read_paper("sigeo")["figure3"]),
    "what searches for click networks find with shared weights trained on no data, a little, or all data",
    (),
    samples=24,
    run=_table5,
    warm_ups=("0", "1%", "100%"),
    space=SPACE,
)
