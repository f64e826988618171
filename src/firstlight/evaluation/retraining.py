"""What found networks are worth: the best by their scores are trained from scratch, beside others.

The best on the validation part is chosen; the test part is looked at for reporting only.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.data.clicks import is_clicks
from firstlight.evaluation.contenders import ClickSetting, Contender, Kind, click_results, path_of
from firstlight.execution.executor import Executor
from firstlight.scoring.costs import Costs
from firstlight.search.result import RETRAINED_NAME
from firstlight.spaces.in_space import in_space
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import ClickRecipe, ClickResult

if TYPE_CHECKING:
    from firstlight.options import Limits
    from firstlight.scoring.service import Setting
    from firstlight.search.result import SearchResult

# Scores that differ by less are taken for those of one and the same network, as in the published search
SAME_SCORE = 1e-6
# Draws in search of networks within the limits, for each that is wanted
PATIENCE = 1000


@dataclass(frozen=True)
class Standing:
    """One network, trained once for each seed. Figures are means over those that came to an end."""

    name: str
    kind: Kind
    results: tuple[ClickResult, ...]
    weights: str | None = None

    @property
    def ended(self) -> list[ClickResult]:
        return [result for result in self.results if result.status == "ok"]

    def mean(self, part: str, figure: str) -> float | None:
        known = self._figures(part, figure)
        return statistics.fmean(known) if known else None

    def deviation(self, part: str, figure: str) -> float | None:
        """Between trainings with different seeds."""
        known = self._figures(part, figure)
        return statistics.stdev(known) if len(known) > 1 else None

    def _figures(self, part: str, figure: str) -> list[float]:
        known = [getattr(getattr(result, part), figure) for result in self.ended]
        return [] if None in known else known

    def to_dict(self) -> dict[str, Any]:
        figures = {
            f"{part}_{figure}": self.mean(part, figure)
            for part in ("validation", "test")
            for figure in ("log_loss", "auc")
        }
        results = [result.to_dict() for result in self.results]
        return {"name": self.name, "kind": self.kind, **figures, "results": results, "weights": self.weights}


@dataclass(frozen=True)
class Retraining:
    """All that were trained, lowest log loss on the validation part first; those without any at the end."""

    recipe: ClickRecipe
    data: str
    seeds: tuple[int, ...]
    standings: tuple[Standing, ...]

    @property
    def best(self) -> Standing | None:
        """The found network with the lowest log loss on the validation part."""
        return next((s for s in self.standings if s.kind == "found" and s.ended), None)

    @property
    def median_random(self) -> float | None:
        """The median log loss on the test part of networks that were drawn at random."""
        known = [s.mean("test", "log_loss") for s in self.standings if s.kind == "random"]
        ended = [loss for loss in known if loss is not None]
        return statistics.median(ended) if ended else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "recipe": str(self.recipe),
            "data": self.data,
            "seeds": list(self.seeds),
            "best": None if self.best is None else self.best.name,
            "median_random_test_log_loss": self.median_random,
            "networks": [standing.to_dict() for standing in self.standings],
        }


def retrain(
    setting: ClickSetting,
    networks: Iterable[tuple[str, Kind]],
    executor: Executor,
    *,
    seeds: Sequence[int] = (0,),
    folder: Path | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Retraining:
    """Train each with each seed. With a `folder`, every result is kept there, and none is computed twice."""
    names = dict[str, Kind](reversed(list(networks)))  # the first mention of a network counts
    contenders = [Contender(name, kind, seed) for seed in seeds for name, kind in reversed(names.items())]
    results: dict[Contender, ClickResult] = {}
    for contender, result in click_results(setting, contenders, executor, folder):
        results[contender] = result
        watch(len(results), len(contenders))

    def standing(name: str, kind: Kind) -> Standing:
        own = [Contender(name, kind, seed) for seed in seeds]
        weights = None
        if folder is not None and kind == "found":
            weights = f"{folder.name}/{path_of(folder, setting.key(own[0]), 'safetensors').name}"
        return Standing(name, kind, tuple(results[contender] for contender in own), weights)

    standings = sorted(
        (standing(name, kind) for name, kind in names.items()), key=lambda s: _order(s.mean("validation", "log_loss"))
    )
    return Retraining(setting.recipe, setting.data.fingerprint, tuple(seeds), tuple(standings))


@dataclass(frozen=True)
class Retrain:
    """To be done after a search: train the best `count` of those that it scored, and so many drawn at random."""

    count: int
    data: str
    recipe: ClickRecipe = ClickRecipe()
    times: int = 1
    random: int = 0

    def __post_init__(self) -> None:
        if self.count < 1 or self.times < 1 or self.random < 0:
            raise SettingError(
                f"The best {self.count} networks and {self.random} at random are to be trained {self.times} times; "
                "the best and the times must be 1 or more."
            )

    def __call__(
        self, result: SearchResult, executor: Executor, watch: Callable[[int, int], None] = lambda done, total: None
    ) -> SearchResult:
        search = result.setting.setting
        setting = ClickSetting(
            **in_space(search.space_name if search.own_space is None else search.own_space),
            source_name=self.data,
            recipe=self.recipe,
            skeleton_settings=search.skeleton_settings,
            device=search.device,
        )
        best = best_distinct(result.history["architecture"], result.history["utility"], self.count)
        networks: list[tuple[str, Kind]] = [(text, "found") for text in best]
        networks += [(text, "random") for text in at_random(search, result.setting.limits, search.seed, self.random)]
        networks += [(name, "by hand") for name in BASELINES]
        seeds = tuple(range(search.seed, search.seed + self.times))
        folder = None if result.directory is None else result.directory / RETRAINED_NAME
        return replace(result, retrained=retrain(setting, networks, executor, seeds=seeds, folder=folder, watch=watch))


def read_retrain(
    data: str | None, count: int | None, *, times: int = 1, random: int = 0, recipe: Any = None, epochs: Any = None
) -> Retrain | None:
    """In the words of the library's calls; None if nothing is to be trained after the search."""
    clicks = data is not None and is_clicks(data)
    if count is None:
        given = {"recipe": recipe, "epochs": epochs} if clicks else {}
        for name, value in (given | {"retrain_random": random or None}).items():
            if value is not None:
                raise SettingError(f"{name} is {value}, but no network is trained: say how many by --retrain 15.")
        return None
    if data is None or not clicks:
        other = "" if data is None else f", and not {data!r}"
        raise SettingError(
            f"The best {count} are to be trained from scratch, which is for clicks: name them as data, such as --data "
            f"criteo:FILE{other}. To train a few on images, search with the algorithm verify."
        )
    wanted = ClickRecipe.parse(recipe) if isinstance(recipe, str) else recipe or ClickRecipe()
    return Retrain(count, data, wanted if epochs is None else replace(wanted, epochs=epochs), times, random)


def best_distinct(architectures: Sequence[str], utilities: Sequence[float | None], count: int) -> list[str]:
    """The best by their scores, of which no two have the same."""
    scored = sorted(
        ((utility, text) for utility, text in zip(utilities, architectures, strict=True) if utility is not None),
        key=lambda entry: (-entry[0], entry[1]),
    )
    chosen: list[tuple[float, str]] = []
    for utility, text in scored:
        if len(chosen) == count:
            break
        if not chosen or chosen[-1][0] - utility >= SAME_SCORE:
            chosen.append((utility, text))
    return [text for _, text in chosen]


def at_random(setting: Setting, limits: Limits, seed: int, count: int) -> Iterator[str]:
    """Networks of the space within limits."""
    costs, rng, found = Costs(setting), python_generator(seed, "random contenders"), 0
    for _ in range(PATIENCE * count):
        if found == count:
            return
        drawn = setting.space.sample(rng)
        if setting.space.customary(drawn) and not limits.excess(functools.partial(costs.amount, drawn)):
            found += 1
            yield str(drawn)


def _order(loss: float | None) -> tuple[bool, float]:
    return loss is None, loss or 0.0
