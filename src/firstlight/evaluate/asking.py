"""Where a search gets the truth from, as a user says it: a table of trained networks, or data to train them on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firstlight.algorithms import AlgorithmRequest
from firstlight.algorithms.ensembles import Criterion, parse_criterion
from firstlight.algorithms.source import Truth
from firstlight.errors import SettingError
from firstlight.evaluate.contest import table_truth, training_truth
from firstlight.evaluate.recipe import TrainingRecipe
from firstlight.evaluate.recipes import RecipeRequest
from firstlight.evaluate.service import EvaluationSetting
from firstlight.evaluate.tables import Table, load_table
from firstlight.evaluate.truth import TRUTH, TableSetting, TableTruth, TrainingTruth
from firstlight.run.executor import Executor
from firstlight.run.in_space import in_space
from firstlight.run.scoring import Setting
from firstlight.run.store import Store
from firstlight.spaces import Space, find_space

# As many as HNAS takes
QUERIES = 20


@dataclass(frozen=True)
class AskTable:
    """Looked up; the figures of `report` are told of the network that is chosen."""

    truth: TableTruth
    report: Sequence[str]
    origin: str

    @classmethod
    def of(cls, table: Table, setting: TableSetting, target: str | None, seconds: str | None = None) -> AskTable:
        truth, report = table_truth(table, setting, target, fidelities=(), seconds=seconds)
        return cls(truth, report, table.origin)

    def open(self, executor: Executor, store: Store) -> TableTruth:
        return self.truth

    def as_json(self) -> dict[str, Any]:
        numbers = repr(sorted(self.truth.figures[self.truth.target].items())).encode()
        digest = hashlib.blake2b(numbers, digest_size=8).hexdigest()
        return {"table": f"{Path(self.origin).name}:{digest}", "target": self.truth.target}

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        figures = self.truth.reached([architecture], self.report)[architecture]
        known = ", ".join(f"{column} {value:.2f}" for column, value in figures.items())
        return [f"The table says of the chosen network: {known}."]


@dataclass(frozen=True)
class AskTraining:
    """Found out by training each network that is asked about."""

    setting: EvaluationSetting

    def open(self, executor: Executor, store: Store) -> TrainingTruth:
        return training_truth(self.setting, None, executor, store)

    def as_json(self) -> dict[str, Any]:
        return {"data": self.setting.dataset.fingerprint, "training": str(self.setting.recipe)}

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        return ["Accuracies are those of the validation part after a short training; a full one tells more."]


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
        raise SettingError("Both a table of trained networks and data to train them on are given. Leave one out.")
    space = in_space(setting.own_space or setting.space_name)
    if table is not None:
        _refuse_without("data to train on (--data)", epochs=epochs, recipe=recipe, data_samples=data_samples)
        found = table if isinstance(table, Table) else load_table(Path(table))
        return AskTable.of(found, TableSetting(**space), target)
    _refuse_without("a table of trained networks (--table)", target=target)
    if data is None:
        _refuse_without("data to train on (--data)", epochs=epochs, recipe=recipe, data_samples=data_samples)
        return None
    how = RecipeRequest.parse(recipe).recipe if isinstance(recipe, str) else recipe or TrainingRecipe()
    training = EvaluationSetting(
        **space,
        source_name=data,
        recipe=how if epochs is None else replace(how, epochs=epochs),
        seed=setting.seed,
        skeleton_settings=setting.skeleton_settings,
        samples=data_samples,
        device=setting.device,
    )
    training.skeleton  # noqa: B018 - data and skeleton are checked here, before any work starts
    return AskTraining(training)


def _refuse_without(what: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise SettingError(f"{name} is {value}, which means nothing without {what}.")


def read_criterion(proxy: str | None, request: AlgorithmRequest, space: str | Space[Any], truth: bool) -> Criterion:
    """What networks are judged by: the truth if it is asked for, else the proxy, or what is usual here."""
    if truth:
        if proxy is not None:
            raise SettingError(
                f"Networks are judged by what they reach, and not by {proxy}. Leave the proxy out; which ones choose "
                "what is asked about is a setting of hnas (metric), verify and portfolio (by)."
            )
        return TRUTH
    if proxy is None:
        proxy = request.usual_proxy(find_space(space) if isinstance(space, str) else space)
    return parse_criterion(proxy)


def read_count(samples: int, queries: int | None, truth: bool) -> int:
    if queries is not None and not truth:
        raise SettingError(
            f"queries is {queries}, but nothing is asked: name data to train networks on (--data), or a table of "
            "trained networks (--table). How many are scored by a proxy is samples."
        )
    return (QUERIES if queries is None else queries) if truth else samples
