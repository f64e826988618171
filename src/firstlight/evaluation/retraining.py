"""Retraining: the best networks of a search are trained from scratch and compared with others.

The best network is the one with the lowest log loss on the validation set. The test set is only reported.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import python_generator
from firstlight.data.clicks import is_clicks
from firstlight.evaluation.contenders import ClickSetting, Contender, click_results, path_of
from firstlight.execution.executor import Executor
from firstlight.scoring.costs import Costs
from firstlight.search.result import RETRAINED_NAME
from firstlight.spaces.in_space import in_space
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import ClickResult, click_recipe
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest
from firstlight.training.retrained import Kind, Retraining, Standing

if TYPE_CHECKING:
    from firstlight.options import Limits
    from firstlight.scoring.service import Setting
    from firstlight.search.result import SearchResult

# Networks whose scores differ by less are taken to be the same, as in the published search
SAME_SCORE = 1e-6
# Samples drawn for each random network within the limits
PATIENCE = 1000


def retrain(
    setting: ClickSetting,
    networks: Iterable[tuple[str, Kind]],
    executor: Executor,
    *,
    seeds: Sequence[int] = (0,),
    folder: Path | None = None,
    callback: Callback = ignore,
) -> Retraining:
    """Train each network once for each seed.

    Args:
        setting: What all trainings have in common.
        networks: The networks and where they come from. The first mention of a network counts.
        executor: Where to train.
        seeds: The seeds.
        folder: Where results and the weights of found networks are kept. No known result is computed again.
        callback: Called with an event after each training.
    """
    names = dict[str, Kind](reversed(list(networks)))
    contenders = [Contender(name, kind, seed) for seed in seeds for name, kind in reversed(names.items())]
    results: dict[Contender, ClickResult] = {}
    for contender, result in click_results(setting, contenders, executor, folder):
        results[contender] = result
        callback(Event("retraining", len(results), len(contenders)))

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
    """What to retrain after a search.

    Args:
        count: Retrain this many of the best networks.
        data: The click data.
        recipe: How to train.
        times: How many times to train each network, with different seeds.
        random: Also train this many random networks.
    """

    count: int
    data: str
    recipe: RecipeRequest = field(default_factory=click_recipe)
    times: int = 1
    random: int = 0

    def __post_init__(self) -> None:
        if self.count < 1 or self.times < 1 or self.random < 0:
            raise SettingError(
                f"retrain is {self.count}, retrain_times {self.times} and retrain_random {self.random}; the first two "
                "must be 1 or more, the last 0 or more."
            )

    def __call__(self, result: SearchResult, executor: Executor, callback: Callback = ignore) -> SearchResult:
        """Return the result of the search with `retrained` filled in."""
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
        retrained = retrain(setting, networks, executor, seeds=seeds, folder=folder, callback=callback)
        return replace(result, retrained=retrained)


def read_retrain(
    data: str | None,
    count: int | None,
    *,
    times: int = 1,
    random: int = 0,
    recipe: str | TrainingRecipe | None = None,
    epochs: int | None = None,
) -> Retrain | None:
    """Read what to retrain after a search, as the options of a search say it; None for nothing.

    Args:
        data: The data of the search.
        count: Retrain this many of the best networks; None for none.
        times: How many times to train each network, with different seeds.
        random: Also train this many random networks.
        recipe: How to train; see `click_recipe`.
        epochs: Number of epochs. Default: that of the recipe.

    Raises:
        SettingError: If options contradict each other.
    """
    clicks = data is not None and is_clicks(data)
    if count is None:
        given = {"recipe": recipe, "epochs": epochs} if clicks else {}
        for name, value in (given | {"retrain_random": random or None}).items():
            if value is not None:
                raise SettingError(
                    f"{name} is {value}, but no network is retrained. Set how many, such as --retrain 15."
                )
        return None
    if data is None or not clicks:
        other = "" if data is None else f", not {data!r}"
        raise SettingError(
            f"Retraining the best {count} networks needs click data, such as --data criteo:FILE{other}. To train "
            "networks on images, search with the algorithm verify."
        )
    request = click_recipe(recipe)
    return Retrain(count, data, request if epochs is None else request.with_epochs(epochs), times, random)


def best_distinct(architectures: Sequence[str], utilities: Sequence[float | None], count: int) -> list[str]:
    """Return the `count` best architectures, of which no two have the same score."""
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
    """Yield `count` random architectures of the space that are within the limits."""
    costs, rng, found = Costs(setting, precision=limits.precision), python_generator(seed, "random contenders"), 0
    for _ in range(PATIENCE * count):
        if found == count:
            return
        drawn = setting.space.sample(rng)
        if setting.space.customary(drawn) and not limits.excess(functools.partial(costs.amount, drawn)):
            found += 1
            yield str(drawn)


def _order(loss: float | None) -> tuple[bool, float]:
    return loss is None, loss or 0.0
