"""Which proxy to trust on a task: train a few networks for a few epochs, and correlate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import pandas as pd

from firstlight.core.errors import SettingError, TooFewError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import python_generator
from firstlight.core.statistics import FEWEST
from firstlight.evaluation.correlate import Sample, Study, study
from firstlight.evaluation.recommend import Recommendation, recommend
from firstlight.evaluation.service import Evaluation, EvaluationService
from firstlight.evaluation.validated import Validated
from firstlight.execution.executor import Executor
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationSetting


@dataclass(frozen=True)
class Trust:
    """Trained networks, their scores, and the advice that follows; the result of `firstlight.trust`.

    Attributes:
        evaluations: The trained networks.
        study: How well proxies rank them.
        classes: The number of classes of the data.
        judged_by: The number of validation samples.
        baselines: Plain networks of the same size, trained alike.
    """

    evaluations: tuple[Evaluation, ...]
    study: Study
    classes: int
    judged_by: int
    baselines: tuple[Validated, ...] = ()

    @property
    def target(self) -> str:
        """The name of the accuracy that was measured."""
        return self.study.sample.targets[0]

    @property
    def trained(self) -> int:
        """The number of networks that were trained and not found in the store."""
        return sum(not evaluation.reused for evaluation in self.evaluations)

    @property
    def accuracies(self) -> list[float]:
        """The validation accuracies of the networks whose training was completed."""
        return [entry.result.accuracy for entry in self.evaluations if entry.result.accuracy is not None]

    @property
    def have_learned(self) -> bool:
        """True if the best network is significantly better than chance."""
        chance = 1 / self.classes
        return max(self.accuracies) > chance + 3 * math.sqrt(chance * (1 - chance) / self.judged_by)

    @property
    def are_alike(self) -> bool:
        """True if at least half of the networks share the best accuracy."""
        best = max(self.accuracies)
        return sum(accuracy >= best for accuracy in self.accuracies) >= len(self.accuracies) / 2

    @cached_property
    def advice(self) -> Recommendation | None:
        """The recommendation; None if no proxy distinguishes the networks."""
        return recommend(self.study.utilities[0], self.study.truth(self.target), seed=self.study.seeds[0])

    @property
    def is_of_use(self) -> bool:
        """True if the networks have learned something, and the recommended proxy is better than chance."""
        return self.advice is not None and self.have_learned and self.advice.expected.value > 0

    def to_dict(self) -> dict[str, Any]:
        unfinished = [entry.to_dict() for entry in self.evaluations if not entry.result.ok]
        advice = None if self.advice is None else self.advice.to_dict()
        beside = {"baselines": [entry.to_dict() for entry in self.baselines]} if self.baselines else {}
        return {"recommendation": advice, "unfinished": unfinished, **beside, **self.study.to_dict()}


def train_and_compare(
    training: EvaluationSetting,
    scoring: Setting,
    requests: Sequence[ProxyRequest],
    count: int,
    executor: Executor,
    store: Store,
    *,
    against: str = "",
    callback: Callback = ignore,
) -> Trust:
    """Train `count` random networks, score them by all proxies, and compare. What the store knows is not done again."""
    if not isinstance(count, int) or count < FEWEST:
        raise SettingError(f"{count!r} networks cannot be compared; a rank correlation needs at least {FEWEST}.")
    service = ScoreService(scoring, requests, executor, store)
    problem = Problem(service, Objective(requests[0]), python_generator(training.seed, "trust"), count)
    texts = [str(architecture) for architecture in islice(problem.distinct_samples(), count)]
    if len(texts) < FEWEST:
        raise SettingError(
            f"{training.space_name!r} has only {len(texts)} different networks; at least {FEWEST} are needed."
        )
    found: dict[str, Evaluation] = {}
    for evaluation in EvaluationService(training, executor, store).evaluations(texts):
        found[evaluation.architecture] = evaluation
        callback(Event("training", len(found), len(texts)))
    evaluations = tuple(found[text] for text in texts)
    accuracies = [evaluation.result.accuracy for evaluation in evaluations]
    finished = sum(accuracy is not None for accuracy in accuracies)
    if finished < FEWEST:
        failed = next(entry for entry in evaluations if not entry.result.ok)
        raise TooFewError(
            f"Only {finished} of {len(texts)} networks completed their training; at least {FEWEST} are needed. One of "
            f"the others has the status {failed.result.status}: {failed.result.note}"
        )
    target = f"{training.source_name.partition(':')[0]}_val_{training.recipe.epochs}"
    columns = {"architecture": texts, "canonical": texts, target: [None if a is None else 100 * a for a in accuracies]}
    rows = pd.DataFrame(columns).astype({target: float})
    result = study(Sample(rows, (target,)), [scoring], requests, executor, store, against=against, callback=callback)
    data = training.dataset
    return Trust(evaluations, result, data.classes, len(data.x_val))
