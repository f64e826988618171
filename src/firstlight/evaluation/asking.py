"""Where a search gets the truth from, as a user says it: a table of trained networks, or data to train them on."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.evaluation.contest import table_truth, training_truth
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth, TrainingTruth
from firstlight.execution.executor import Executor
from firstlight.proxies.base import Proxy
from firstlight.proxies.ensembles import Criterion, after_warm_up, for_space, parse_criterion
from firstlight.scoring.costs import Costs
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.source import Truth
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.finding import find_space
from firstlight.spaces.in_space import in_space
from firstlight.storage.store import Store
from firstlight.tables.table import Table, load_table
from firstlight.tables.targets import Target
from firstlight.training.fitting import fit_recipe
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest

SAMPLES = 500
# As many as HNAS takes
QUERIES = 20
# Number of networks to draw in order to find one that can be built
FEW = 20


@dataclass(frozen=True)
class AskTable:
    """Looked up; the figures of `report` are told of the network that is chosen."""

    truth: TableTruth
    report: Sequence[str]
    origin: str

    @classmethod
    def of(cls, table: Table, setting: TableSetting, target: str | None, seconds: str | None = None) -> AskTable:
        truth, report = table_truth(table, setting, target, fidelities=(), seconds=seconds)
        if not Target.of_column(truth.target).is_accuracy:
            raise SettingError(
                f"The target {truth.target!r} is not an accuracy, but a search maximizes its target. Name a column of "
                "accuracies, such as cifar10_val_12."
            )
        return cls(truth, report, table.origin)

    @property
    def measure(self) -> str:
        return str(Target.of_column(self.truth.target))

    @property
    def skeleton(self) -> Skeleton:
        return self.truth.setting.skeleton

    @property
    def data(self) -> str | None:
        return None

    def open(self, executor: Executor, store: Store) -> TableTruth:
        return self.truth

    def to_dict(self) -> dict[str, Any]:
        numbers = repr(sorted(self.truth.figures[self.truth.target].items())).encode()
        digest = hashlib.blake2b(numbers, digest_size=8).hexdigest()
        return {"table": f"{Path(self.origin).name}:{digest}", "target": self.truth.target}

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        figures = self.truth.reached([architecture], self.report)[architecture]
        known = ", ".join(f"{column} {value:.2f}" for column, value in figures.items())
        return [f"The chosen network in the table: {known}."]


@dataclass(frozen=True)
class AskTraining:
    """Found out by training each network that is asked about."""

    setting: EvaluationSetting
    notes: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        epochs = self.setting.recipe.epochs
        return f"validation accuracy after {epochs} epoch{'' if epochs == 1 else 's'}"

    @property
    def skeleton(self) -> Skeleton:
        return self.setting.skeleton

    @property
    def data(self) -> str | None:
        return self.setting.source_name

    def open(self, executor: Executor, store: Store) -> TrainingTruth:
        return training_truth(self.setting, None, executor, store)

    def to_dict(self) -> dict[str, Any]:
        return {"data": self.setting.dataset.fingerprint, "training": str(self.setting.recipe)}

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        short = "Accuracies are on the validation set after a short training; a full training tells more."
        return [*self.notes, short]


def truth_request(
    setting: Setting,
    *,
    table: str | os.PathLike[str] | Table | None = None,
    target: str | None = None,
    data: str | None = None,
    epochs: int | None = None,
    recipe: TrainingRecipe | str | None = None,
    data_samples: int | None = None,
) -> AskTable | AskTraining | None:
    """In the words of the library's calls; None if nothing asks for the truth. `setting` is how networks are made."""
    if table is not None and data is not None:
        raise SettingError(
            "Both a table of trained networks (--table) and data to train on (--data) are given. Leave one out."
        )
    space = in_space(setting.space_name if setting.own_space is None else setting.own_space)
    if table is not None:
        _refuse_without("data to train on (--data)", epochs=epochs, recipe=recipe, data_samples=data_samples)
        found = table if isinstance(table, Table) else load_table(Path(table))
        around = tuple(setting.skeleton.settings().items())
        return AskTable.of(found, TableSetting(**space, skeleton_settings=around), target)
    _refuse_without("a table of trained networks (--table)", target=target)
    if data is None:
        _refuse_without("data to train on (--data)", epochs=epochs, recipe=recipe, data_samples=data_samples)
        return None
    request = RecipeRequest.parse(recipe) if isinstance(recipe, str) else RecipeRequest.of(recipe or TrainingRecipe())
    if epochs is not None:
        request = request.with_epochs(epochs)
    training = EvaluationSetting(
        **space,
        source_name=data,
        recipe=request.recipe,
        seed=setting.seed,
        skeleton_settings=setting.skeleton_settings,
        samples=data_samples,
        device=setting.device,
        tests_later=True,
    )
    fitted, notes = fit_recipe(request, training.space, _any_network(training), training.skeleton)
    return AskTraining(replace(training, recipe=fitted), tuple(notes))


def _any_network(training: EvaluationSetting) -> Architecture:
    """One that can be built, if there are such among a few."""
    rng = python_generator(training.seed, "any network")
    drawn: list[Architecture] = [training.space.sample(rng) for _ in range(FEW)]
    costs = Costs(training)
    return next((network for network in drawn if costs.amount(network, "params") < math.inf), drawn[0])


def _refuse_without(what: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                f"{name} is {value}, which has no effect without {what}. Leave it out, or add the other option."
            )


def read_criterion(
    proxy: str | Proxy | None, request: AlgorithmRequest, space: str | Space[Any], truth: bool, *, warmed: bool = False
) -> Criterion:
    """What networks are judged by: the truth if it is asked for, else the proxy, or what is usual here.

    `warmed`: after a warm-up, for which some proxies have other settings.
    """
    if truth:
        if proxy is not None:
            given = proxy if isinstance(proxy, str) else parse_criterion(proxy)
            raise SettingError(
                f"This search evaluates networks by true performance, not by {given}. Leave out the proxy. The proxies "
                "that choose the networks to evaluate are settings of the algorithm: hnas:metric=, verify:by= and "
                "portfolio:by=."
            )
        return TRUTH
    found = find_space(space)
    criterion = for_space(parse_criterion(request.default_proxy(found) if proxy is None else proxy), found.name)
    return after_warm_up(criterion, found.data_kind) if warmed else criterion


def read_count(samples: int | None, queries: int | None, truth: bool, request: AlgorithmRequest | None = None) -> int:
    """How many networks are scored, or asked about; as many as the algorithm's generations need, if it counts them."""
    if samples is not None and truth:
        raise SettingError(
            f"samples is {samples}, but this search evaluates networks by true performance. Set the number of networks "
            "to evaluate with queries (--queries), and the number that proxies choose from with the pool (--algorithm "
            "hnas:pool=N)."
        )
    if queries is not None and not truth:
        raise SettingError(
            f"queries is {queries}, but there is nothing to query. Name data to train networks on (--data), or a table "
            "of trained networks (--table). To set the number of networks that a proxy scores, use samples (--samples)."
        )
    if truth:
        return QUERIES if queries is None else queries
    usual = None if request is None else request.budget
    return (usual or SAMPLES) if samples is None else samples
