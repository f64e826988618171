"""SiGeo (Zheng et al., 2023): searches for click-prediction networks with shared weights trained on 0 to 100 %."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from firstlight.core.errors import MissingFileError
from firstlight.core.statistics import Estimate
from firstlight.data import InputSource
from firstlight.data.clicks import is_clicks, open_clicks
from firstlight.data.clicks.prepared import path_of
from firstlight.evaluation.contenders import ClickSetting
from firstlight.evaluation.retraining import at_random, best_distinct, retrain
from firstlight.options import Limits
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.ensembles import after_warm_up, members, parse_criterion
from firstlight.proxies.requests import ProxyRequest, parse_requests
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.search.result import RETRAINED_NAME
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import click_recipe
from firstlight.training.recipes import RecipeRequest
from firstlight.training.retrained import Kind, Retraining, Standing
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import FEWEST_BATCHES, WarmUp

PAPER = read_paper("sigeo")
TABLE5 = PAPER["table5"]
SMALL = "nasrec-small"
SPACES = {SMALL: "NASRec-Small", "nasrec-full": "NASRec-Full"}
# The columns of Table 5 by the layout of the file
LOGS = {"criteo": "Criteo", "avazu": "Avazu", "kdd": "KDD"}
FIGURES = {"log loss": "log_loss", "AUC": "auc"}
# How many of the best networks of a search are trained from scratch, and how many random ones beside them
BEST, AT_RANDOM = 3, 5
BY_CODE, ONE_SHOT = "SiGeo, published code", "loss (one-shot)"
PROXIES = {
    "SiGeo": "sigeo",
    BY_CODE: "sigeo:variant=official-rec",
    "ZiCo": "zico",
    "Fisher-Rao norm alone": "fr_norm",
    ONE_SHOT: "loss",
}
RANDOM = "networks at random"
# Chosen as those of a search are, so that the choice alone is no advantage
BEST_AT_RANDOM = "best of the first networks at random"
# The published rows of networks by hand
BY_HAND = {"dlrm, by hand": "DLRM", "deepfm, by hand": "DeepFM"}
# The number of steps that a small file must allow, in a training from scratch and in a warm-up
BATCHES, WARM_UP_BATCHES = 100, 16
SMALLEST_BATCH = 32
NO_CLICKS = (
    "{} needs click data. Name a file with --input criteo:FILE, or several with commas. `firstlight data prepare` "
    "makes it from a log, and `firstlight data synthesize` makes a synthetic log."
)


@dataclass(frozen=True)
class Place:
    """A file of clicks and a space: where methods are compared."""

    source: str
    space: str

    @property
    def title(self) -> str:
        return f"{self.file}, {self.space}"

    @property
    def file(self) -> str:
        """The name of the file."""
        return path_of(self.source).name

    @property
    def column(self) -> str:
        """The column of the published table; "" if the paper has no such log."""
        return LOGS.get(self.source.partition(":")[0], "")

    @property
    def rows(self) -> int:
        """The number of training rows."""
        return open_clicks(self.source).rows["train"]


@dataclass(frozen=True)
class Method:
    """A proxy, the requested training of the shared weights that it scores, and that which the file allows."""

    name: str
    proxy: str
    asked: WarmUp | SharedWarmUp | None
    warm_up: WarmUp | SharedWarmUp | None

    @property
    def share(self) -> float:
        return self.asked.share if self.asked else 0.0

    @property
    def title(self) -> str:
        return f"{self.name}, {100 * self.share:g} %" if self.asked else f"{self.name}, no training"

    def published_as(self, space: str) -> str:
        """The row of the published table."""
        return f"{self.name}, {SPACES[space]}, {100 * self.share:g} %"


def adapted(warm_up: WarmUp | SharedWarmUp | None, rows: int) -> WarmUp | SharedWarmUp | None:
    """Return the warm-up with smaller batches, and then with a larger share, if the file is too small for it."""
    if not isinstance(warm_up, SharedWarmUp) or not warm_up.share:
        return warm_up
    usual = warm_up.recipe.batch_size
    size = max(min(SMALLEST_BATCH, usual), min(usual, int(warm_up.share * rows) // WARM_UP_BATCHES))
    share = min(1.0, max(warm_up.share, math.ceil(1000 * FEWEST_BATCHES * size / rows) / 1000))
    return replace(warm_up, share=share, recipe=replace(warm_up.recipe, batch_size=size))


def places_of(lab: Lab, name: str) -> list[Place]:
    sources = lab.images.split(",")
    if not all(map(is_clicks, sources)):
        raise MissingFileError(NO_CLICKS.format(name))
    return [Place(source, space) for source in sources for space in SPACES]


def _table5(lab: Lab) -> Findings:
    lines, remarks = list[Finding](), dict[str, None]()
    for place in places_of(lab, "sigeo-table5"):
        methods = [
            Method(name, proxy, asked, adapted(asked, place.rows))
            for asked in lab.warm_ups
            for name, proxy in PROXIES.items()
            if name != ONE_SHOT or asked  # without training, the loss says nothing
        ]
        lines += _compared(lab, place, methods)
        remarks |= dict.fromkeys(changes(place, methods))
    return Findings(tuple(lines), (*_remarks(lab), *remarks))


def _compared(lab: Lab, place: Place, methods: Sequence[Method]) -> Iterator[Finding]:
    found: dict[Method, list[Standing]] = {method: [] for method in methods}
    seconds: dict[Method, list[float]] = {method: [] for method in methods}
    others: dict[str, list[Standing]] = {}
    for seed in lab.seeds:
        trained = {method.warm_up: _warm_up_seconds(lab, place, method.warm_up, seed) for method in methods}
        best = dict[Method, list[str]]()
        for method in methods:
            best[method], scoring = found_by(lab, place, method, seed, BEST)
            seconds[method].append(trained[method.warm_up] + scoring)
        drawn = list(at_random(setting_of(lab, place), Limits(), seed, AT_RANDOM))
        networks: list[tuple[str, Kind]] = [(text, "found") for texts in best.values() for text in texts]
        networks += [(text, "random") for text in drawn]
        networks += [(name, "by hand") for name in BASELINES]
        standings = {standing.name: standing for standing in train_from_scratch(lab, place, networks, seed).standings}
        for method, texts in best.items():
            found[method] += _best_of([standings[text] for text in texts])
        random_ones = [standings[text] for text in drawn]
        others.setdefault(RANDOM, []).extend(random_ones)
        others.setdefault(BEST_AT_RANDOM, []).extend(_best_of(random_ones[:BEST]))
        for name in BASELINES:
            others.setdefault(f"{name}, by hand", []).append(standings[name])
    for method in methods:
        yield from _lines(place, method.title, found[method], method.published_as(place.space))
        yield Finding(f"{method.title}: seconds of the search", place.title, _mean(seconds[method]))
    for name, standings_of in others.items():
        yield from _lines(place, name, standings_of, BY_HAND.get(name, ""))


def _best_of(standings: Sequence[Standing]) -> list[Standing]:
    """Return the one with the lowest log loss on the validation part; none if no training came to its end."""
    losses = [(standing.mean("validation", "log_loss"), standing) for standing in standings]
    known = [(loss, standing) for loss, standing in losses if loss is not None]
    return [min(known, key=lambda entry: entry[0])[1]] if known else []


def setting_of(lab: Lab, place: Place) -> Setting:
    return lab.setting(place.space, InputSource(place.source))


def _service(
    lab: Lab, place: Place, requests: Sequence[ProxyRequest], warm_up: WarmUp | SharedWarmUp | None, seed: int
) -> ScoreService:
    setting = lab.setting(place.space, source_for(requests, place.source), seed=seed, warm_up=warm_up)
    return ScoreService(setting, requests, lab.executor, lab.store, lab.callback)


def _warm_up_seconds(lab: Lab, place: Place, warm_up: WarmUp | SharedWarmUp | None, seed: int) -> float:
    """Train the shared weights, and return how long that took: the first network that is scored waits for them."""
    if warm_up is None:
        return 0.0
    (text,) = at_random(setting_of(lab, place), Limits(), seed, 1)
    (first,) = _service(lab, place, parse_requests(["loss"]), warm_up, seed).scores([text])
    return first.seconds


def found_by(lab: Lab, place: Place, method: Method, seed: int, best: int) -> tuple[list[str], float]:
    """Return the best networks by a method, and how long their scoring took."""
    by = parse_criterion(method.proxy)
    if method.warm_up is not None:
        by = after_warm_up(by, "clicks")
    service = _service(lab, place, members(by), method.warm_up, seed)
    scored = list[tuple[str, float | None]]()
    problem = Problem(
        service,
        Objective(by, Limits()),
        random.Random(seed),
        lab.samples,
        callback=lambda event: scored.append((event.architecture, event.item.utility)),
    )
    population = max(4, lab.samples // 3)
    with lab.executor.staying():
        AlgorithmRequest.parse(f"evolution:population={population}:tournament={population // 2}:children=4").run(
            problem
        )
    texts = [text for text, _ in scored]
    seconds = math.fsum(network.seconds for network in service.scores(list(dict.fromkeys(texts))))
    return best_distinct(texts, [utility for _, utility in scored], best), seconds


def _recipe(place: Place) -> RecipeRequest:
    usual = click_recipe()
    return usual.changed(batch_size=max(2, min(usual.recipe.batch_size, place.rows // BATCHES)))


def train_from_scratch(lab: Lab, place: Place, networks: Sequence[tuple[str, Kind]], seed: int) -> Retraining:
    """Train networks from scratch."""
    setting = ClickSetting(place.space, source_name=place.source, recipe=_recipe(place), skeleton_settings=lab.skeleton)
    folder = None if lab.store.folder is None else lab.store.folder / RETRAINED_NAME
    return retrain(setting, networks, lab.executor, seeds=(seed,), folder=folder, callback=lab.callback)


def _lines(place: Place, title: str, standings: Sequence[Standing], published_as: str) -> Iterator[Finding]:
    for what, figure in FIGURES.items():
        known = [value for standing in standings if (value := standing.mean("test", figure)) is not None]
        yield Finding(f"{title}: {what}", place.title, _mean(known), note=_note(place, published_as, what))


def _mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean plus and minus two standard errors; None without values."""
    if not values:
        return None
    mean = statistics.fmean(values)
    error = 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Estimate(mean, mean - error, mean + error)


def _note(place: Place, row: str, what: str) -> str:
    """Return what the paper prints for the whole log, if it has the row."""
    if row not in TABLE5.rows or not place.column:
        return ""
    published = TABLE5.at(row, f"{place.column} {what}")
    return "" if published is None else f"published for all of {place.column}: {published}"


def changes(place: Place, methods: Sequence[Method]) -> Iterator[str]:
    """Yield what was changed of warm-ups because the file is small."""
    for method in methods:
        if method.warm_up is not None and method.asked is not None and method.warm_up != method.asked:
            yield (
                f"{place.file} has {place.rows:,} training rows. For {100 * method.share:g} %, the shared "
                f"weights were trained on {100 * method.warm_up.share:g} % in batches of "
                f"{method.warm_up.recipe.batch_size}."
            )


def _remarks(lab: Lab) -> tuple[str, ...]:
    return (
        f"Figures are of the test part. Each search scores {lab.samples} networks of any size. The {BEST} best are "
        f"trained from scratch, and the best of these on the validation part counts. So does the best of the first "
        f"{BEST} of {AT_RANDOM} random networks. Intervals are two standard errors over the seeds, which draw weights, "
        "paths, networks and the order of rows. They do not cover the choice of test rows.",
        "Without training, each network has its own initial weights. Otherwise it inherits the shared weights after "
        "one pass over the share, and proxies see all its layers, as in Eq. 7. The paper scores 2,048 networks and "
        "trains 15.",
        "The seconds of a search are those of the warm-up and of the scoring on one thread, without the trainings "
        "from scratch. The paper prints GPU days.",
    )


WARM_UPS = ("0", "1%", "100%")
sigeo_table5 = Experiment(
    "sigeo-table5",
    (PAPER["table1"], TABLE5, PAPER["figure3"]),
    "what searches for click networks find with shared weights trained on no data, a little, or all data",
    (),
    samples=24,
    run=_table5,
    warm_ups=WARM_UPS,
    space=SMALL,
)
