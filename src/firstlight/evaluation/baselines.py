"""Plain baselines: networks that people build by hand, scaled to the same limits, and trained with the same recipe."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from firstlight.core.errors import LimitError, SettingError, UnknownNameError
from firstlight.core.events import Callback, ignore
from firstlight.core.importing import import_named
from firstlight.data import InputSource
from firstlight.evaluation.finals import FINALS, train_finalists
from firstlight.execution.executor import Executor
from firstlight.options import Limits
from firstlight.scoring.costs import Costs, LatencySource, written
from firstlight.scoring.latency import LatencyRequest
from firstlight.scoring.service import Setting
from firstlight.search.result import SearchResult
from firstlight.spaces import SPACES
from firstlight.spaces.own_model import TEXT, ModelSpace
from firstlight.spaces.plain.baselines import BASELINES, scaled_within
from firstlight.storage.store import Store, open_store
from firstlight.training.finalists import Compared, Finalist
from firstlight.training.fitting import fit_recipe
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import RecipeRequest
from firstlight.training.trained import Trained
from firstlight.training.verdict import judge

ALL = "all"
LatencyFor = Callable[[EvaluationSetting], LatencySource]


@dataclass(frozen=True)
class ScaledBaseline:
    """A baseline for certain data and limits.

    Attributes:
        name: Its name, such as "resnet", or `module:name`.
        title: What reports call it.
        setting: The space, the data and the skeleton.
        architecture: The text of its architecture.
    """

    name: str
    title: str
    setting: EvaluationSetting
    architecture: str

    def finalist(self, request: RecipeRequest) -> Finalist:
        """Return it as a network to train, with as much of the recipe as it can follow."""
        space = self.setting.space
        recipe, _ = fit_recipe(request, space, space.parse(self.architecture), self.setting.skeleton)
        return Finalist(self.name, self.title, self.setting, self.architecture, replace(request, recipe=recipe))


def check_baselines(given: Sequence[Any]) -> None:
    """Check names before anything slow is done.

    Raises:
        UnknownNameError: If a name is not that of a baseline.
        SettingError: If a baseline is given twice.
    """
    names = [name for name in given if isinstance(name, str)]
    for name in names:
        if ":" not in name and name not in BASELINES and name != ALL:
            raise UnknownNameError("baseline", name, [*BASELINES, ALL, "module:name"])
    if len(set(names)) < len(names):
        raise SettingError(f"The baselines are {', '.join(names)}; name each only once.")


def scaled_baselines(
    given: Sequence[Any], setting: EvaluationSetting, limits: Limits, latency: LatencyFor | None = None
) -> list[ScaledBaseline]:
    """Return the baselines that a user names, each as large as the limits allow.

    Args:
        given: Names of `BASELINES`, "all", `module:name` of the user's own model, or models.
        setting: The data, and how networks are trained.
        limits: What a network may cost. Without any, baselines have their usual size.
        latency: Returns where the latencies of a space come from, if they are limited.

    Raises:
        LimitError: If a baseline that was named cannot be made small enough. Those of "all" are left out.
    """
    check_baselines(given)
    found: list[ScaledBaseline] = []
    for entry in given:
        if isinstance(entry, str) and entry == ALL:
            every = (_scaled(name, setting, limits, latency) for name in BASELINES if name not in given)
            found += [standard for standard in every if standard is not None]
        elif isinstance(entry, str) and entry in BASELINES:
            standard = _scaled(entry, setting, limits, latency)
            if standard is None:
                raise LimitError(
                    f"No {BASELINES[entry].title} of {setting.source_name!r} has {limits}. Raise the limits, or name "
                    "another baseline: logistic is the smallest."
                )
            found.append(standard)
        else:
            found.append(_own(entry, setting, limits, latency))
    return found


def _scaled(name: str, setting: EvaluationSetting, limits: Limits, latency: LatencyFor | None) -> ScaledBaseline | None:
    baseline = BASELINES[name]
    placed = _in_space(setting, space_name=baseline.space)
    network = SPACES[baseline.space].read(baseline.architecture)
    costs = Costs(placed, latency and latency(placed), limits.precision)
    upper = replace(limits, min_params=None, min_macs=None)
    if upper.bounds:
        network = scaled_within(network, _fitting(upper, costs))
    if network is None or not _fitting(limits, costs)(network):
        return None
    return ScaledBaseline(name, baseline.title, placed, str(network))


def _fitting(limits: Limits, costs: Costs) -> Callable[[Any], bool]:
    return lambda network: not limits.excess(functools.partial(costs.amount, network))


def _own(entry: Any, setting: EvaluationSetting, limits: Limits, latency: LatencyFor | None) -> ScaledBaseline:
    name = entry if isinstance(entry, str) else getattr(entry, "__name__", type(entry).__name__)
    space = ModelSpace(name, import_named(entry) if isinstance(entry, str) else entry)
    placed = _in_space(setting, space_name=name, own_space=space)
    space.build(TEXT, placed.skeleton)  # an error now, and not after the search
    costs = Costs(placed, latency and latency(placed), limits.precision)
    network = space.parse(TEXT)
    if limits.excess(functools.partial(costs.amount, network)):
        amounts = " and ".join(written(cost, costs.amount(network, cost)) for cost in limits.bounds)
        raise LimitError(f"{name} has {amounts}; the limits are {limits}. Raise the limits, or leave it out.")
    return ScaledBaseline(name, name, placed, TEXT)


def _in_space(setting: EvaluationSetting, **space: Any) -> EvaluationSetting:
    """Return the setting in another space, with the skeleton that the data ask for, and the data that it has read."""
    data = setting.dataset
    placed = EvaluationSetting(
        **space,
        source_name=setting.source_name,
        recipe=setting.recipe,
        seed=setting.seed,
        samples=setting.samples,
        device=setting.device,
        tests_later=setting.tests_later,
    )
    vars(placed)["dataset"] = data  # as `cached_property` does
    return placed


def latencies(request: str, store: Store) -> LatencyFor:
    """Return where latencies come from, as a function of the setting of the networks.

    Args:
        request: What the user asks for, such as "measured".
        store: Where measured latencies are kept.
    """

    def source(setting: EvaluationSetting) -> LatencySource:
        scored = Setting(
            setting.space_name,
            own_space=setting.own_space,
            source=InputSource(setting.source_name),
            seed=setting.seed,
            skeleton_settings=setting.skeleton_settings,
            device=setting.device,
        )
        return LatencyRequest(request).source(scored, store)

    return source


def judge_against(
    found: Finalist,
    others: Sequence[ScaledBaseline],
    seeds: Sequence[int],
    executor: Executor,
    folder: Path | None = None,
    *,
    known: Mapping[int, Trained] = MappingProxyType({}),
    callback: Callback = ignore,
) -> Compared:
    """Train a network and baselines alike, test them, and compare the network with the baseline that validates best.

    Args:
        found: The network.
        others: The baselines, which are trained by the recipe of the network.
        seeds: Seeds of the trainings.
        executor: Where to train.
        folder: The folder of the run, in which the trainings are kept.
        known: Trainings of the network that are done, by their seeds.
        callback: Called with an event after each training.
    """
    finalists = [found, *(standard.finalist(found.request) for standard in others)]
    place = None if folder is None else folder / FINALS
    done = {(found.name, seed): trained for seed, trained in known.items()}
    own, *baselines = train_finalists(finalists, seeds, executor, place, known=done, callback=callback)
    ended = sorted((entry for entry in baselines if entry.finished), key=lambda entry: -(entry.validation or 0.0))
    if not ended:
        raise SettingError("No baseline came to the end of its training. Name another one.")
    return Compared(own, tuple(ended), judge(own.answers, ended[0].answers))


@dataclass(frozen=True)
class Comparing:
    """What the best network of a search is compared with, afterwards.

    Attributes:
        given: The baselines that the user names.
        seeds: How often each network is trained.
        setting: The data, and how the search has trained networks.
        limits: What a network may cost. Without any, baselines are as large as the network that was found.
        latency: Where latencies come from.
    """

    given: Sequence[Any]
    seeds: int
    setting: EvaluationSetting
    limits: Limits
    latency: str

    def __post_init__(self) -> None:
        check_baselines(self.given)
        if self.limits.bounds:
            self._scaled(self.limits, None)  # an error now, and not after the search

    def __call__(self, result: SearchResult, executor: Executor, callback: Callback = ignore) -> SearchResult:
        """Return the result of the search with `compared` filled in."""
        text, setting = result.best.architecture, self.setting
        cost = setting.space.cost(setting.space.parse(text), setting.skeleton)
        limits = self.limits if self.limits.bounds else Limits(max_params=cost.params)
        own = Finalist("found", "network", setting, text, RecipeRequest.of(setting.recipe))
        seeds = range(setting.seed, setting.seed + self.seeds)
        others = self._scaled(limits, result.directory)
        compared = judge_against(own, others, seeds, executor, result.directory, callback=callback)
        return replace(result, compared=compared)

    def _scaled(self, limits: Limits, folder: Path | None) -> list[ScaledBaseline]:
        with open_store(None if folder is None else folder / FINALS) as store:
            return scaled_baselines(self.given, self.setting, limits, latencies(self.latency, store))
