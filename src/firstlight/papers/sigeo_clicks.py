"""SiGeo (Zheng et al., 2023): searches for networks that predict clicks, without, after a little and after all training
of the weights that they share."""

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
from firstlight.evaluation.contenders import ClickSetting, Kind
from firstlight.evaluation.retraining import Standing, at_random, best_distinct, retrain
from firstlight.papers.base import Experiment, Finding, Findings
from firstlight.papers.lab import Lab
from firstlight.proxies.ensembles import after_warm_up, members, parse_criterion
from firstlight.scoring.service import ScoreService, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Limits, Objective
from firstlight.search.problem import Problem
from firstlight.search.result import RETRAINED_NAME
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import ClickRecipe
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp

SPACE = "nasrec-small"
MOST_PARAMETERS = 1_000_000
LIMITS = Limits(max_params=MOST_PARAMETERS)
# Of the networks that a search scores, the best are trained from scratch; and so many at random to compare with
BEST, AT_RANDOM = 3, 5
SIGEO, ZICO, FISHER_RAO = "SiGeo", "ZiCo", "Fisher-Rao norm alone"
PROXIES = {SIGEO: "sigeo", "SiGeo, published code": "sigeo:variant=official-rec", ZICO: "zico", FISHER_RAO: "fr_norm"}
ONE_SHOT = {"loss (one-shot)": "loss"}
# Of Criteo, by the share of the data that shared weights were trained on
PUBLISHED = {
    (SIGEO, 0.0): 0.4404,
    (SIGEO, 0.01): 0.4396,
    (SIGEO, 1.0): 0.4399,
    (ZICO, 0.01): 0.4404,
}
# As many steps as a small file allows
BATCHES = 100
NO_CLICKS = (
    "sigeo-table5 is about clicks. Name a file by --input criteo:FILE, which `firstlight data prepare` makes of a log "
    "(and `firstlight data synthesize` makes one up)."
)


@dataclass(frozen=True)
class Method:
    name: str
    proxy: str
    warm_up: WarmUp | SharedWarmUp | None

    @property
    def share(self) -> float:
        return self.warm_up.share if self.warm_up else 0.0

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
        outcome = retrain(_training(lab), networks, lab.executor, seeds=(seed,), folder=folder, watch=lab.watch)
        standings = {standing.name: standing for standing in outcome.standings}
        for method, texts in best.items():
            ended = [standings[text] for text in texts if standings[text].ended]
            if ended:  # best on the validation part; the test part is looked at afterwards
                found[method].append(min(ended, key=lambda s: s.mean("validation", "log_loss") or math.inf))
        for name, standing in standings.items():
            if standing.kind == "by hand":
                others.setdefault(f"{name}, by hand", []).append(standing)
            elif standing.kind == "random":
                others.setdefault("networks at random", []).append(standing)
    lines = [line for method in methods for line in _lines(lab, method.title, found[method], _note(method))]
    lines += [line for name, standings in others.items() for line in _lines(lab, name, standings, "")]
    return Findings(tuple(lines), _remarks(lab))


def _search(lab: Lab, method: Method, seed: int) -> list[str]:
    by = parse_criterion(method.proxy)
    if method.warm_up is not None:
        by = after_warm_up(by, "clicks")
    source = source_for(members(by), lab.images)
    setting = lab.setting(SPACE, source, seed=seed, warm_up=method.warm_up)
    service = ScoreService(setting, members(by), lab.executor, lab.store, lab.watch)
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
    recipe = ClickRecipe(batch_size=max(1, min(ClickRecipe.batch_size, rows // BATCHES)))
    return ClickSetting(SPACE, source_name=lab.images, recipe=recipe, skeleton_settings=lab.skeleton)


def _lines(lab: Lab, title: str, standings: Sequence[Standing], note: str) -> Iterator[Finding]:
    for what, figure in (("log loss", "log_loss"), ("AUC", "auc")):
        known = [value for standing in standings if (value := standing.mean("test", figure)) is not None]
        yield Finding(
            f"{title}: {what}", Path(lab.images).name, _mean(known), note=note if figure == "log_loss" else ""
        )


def _mean(values: Sequence[float]) -> Estimate | None:
    """With twice its standard error to both sides; a single value stands alone."""
    if not values:
        return None
    mean = statistics.fmean(values)
    error = 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Estimate(mean, mean - error, mean + error)


def _note(method: Method) -> str:
    published = PUBLISHED.get((method.name, method.share))
    return f"published for all of Criteo: {published}" if published is not None else ""


def _remarks(lab: Lab) -> tuple[str, ...]:
    recipe = _training(lab).recipe
    return (
        f"Figures are of the test part. Each search scores {lab.samples} networks of {SPACE} with up to "
        f"{MOST_PARAMETERS:,} parameters; the best {BEST} are trained from scratch ({recipe}), and the one that is "
        "best on the validation part counts. Intervals are two standard errors over the seeds, which draw weights, "
        "paths, networks and the order of rows; they know nothing of the choice of rows for the test.",
        "Without training, networks have initial weights of their own; otherwise they inherit those of the "
        "weight-sharing network after one pass over the share, and proxies see their final layer, as in the published "
        "code. The paper scores 2,048 networks and trains 15.",
    )


sigeo_table5 = Experiment(
    "sigeo-table5",
    "SiGeo Table 5 and Figure 4",
    "Zheng2023sigeo",
    "what searches for click networks find with shared weights that were trained not at all, a little, or on all data",
    (),
    samples=24,
    run=_table5,
    warm_ups=("0", "1%", "100%"),
    space=SPACE,
)
