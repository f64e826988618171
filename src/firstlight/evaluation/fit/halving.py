"""Successive halving over epochs: many networks are trained for a few epochs, the better third for more, and so on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from firstlight.core.events import Callback, Event, ignore
from firstlight.evaluation.fit.candidates import Candidate
from firstlight.evaluation.fit.notebook import Notebook
from firstlight.evaluation.fit.plan import KEPT
from firstlight.execution.executor import Executor, Lost
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationJob

Stage = Literal["learned", "starting", "flat"]
# How many standard deviations an accuracy must be above chance
ABOVE = 3.0
# A training loss that has fallen by this share has begun to fall
FALLEN = 0.01
# How often the epochs of a rung are doubled if its networks have not begun to learn
MOST_DOUBLINGS = 2


@dataclass(frozen=True)
class Ranked:
    """A candidate after a training.

    Attributes:
        candidate: The network.
        result: How its training went.
        stage: Whether it is better than chance; if it is not, whether its loss has begun to fall.
    """

    candidate: Candidate
    result: TrainingResult
    stage: Stage

    @property
    def accuracy(self) -> float:
        """The validation accuracy; 0 if the training did not come to its end."""
        return self.result.accuracy or 0.0

    @property
    def order(self) -> tuple[int, float, float]:
        """What sorts candidates, the best first: what is at chance is told apart by its loss."""
        loss = self.result.last.val_loss if self.result.last is not None and self.result.ok else math.inf
        if self.stage == "learned":
            return 0, -self.accuracy, loss
        return (1 if self.stage == "starting" else 2), loss, 0.0


def stage_of(result: TrainingResult, classes: int, validated: int) -> Stage:
    """Tell a network that has learned from one that has begun to, and from one that has not.

    Args:
        result: How the training went.
        classes: The number of classes.
        validated: The number of validation samples.
    """
    chance = 1 / classes
    if (result.accuracy or 0.0) > chance + ABOVE * math.sqrt(chance * (1 - chance) / validated):
        return "learned"
    if not result.ok or not result.epochs:
        return "flat"
    first, last = result.epochs[0].train_loss, result.epochs[-1].train_loss
    before = first if len(result.epochs) > 1 else math.log(classes)
    return "starting" if last < (1 - FALLEN) * before else "flat"


@dataclass(frozen=True)
class MixedJob:
    """Trains networks of several settings: the job that executors run.

    Attributes:
        jobs: One for each setting.
    """

    jobs: tuple[EvaluationJob, ...]

    def __call__(self, task: tuple[int, str]) -> TrainingResult:
        place, architecture = task
        return self.jobs[place](architecture)


@dataclass(frozen=True)
class Trainings:
    """Trains candidates: what the store knows is not trained again.

    Attributes:
        executor: Where to train.
        store: Where results are kept.
        notebook: The decisions of the fit.
        callback: Called with an event after each training.
    """

    executor: Executor
    store: Store
    notebook: Notebook
    callback: Callback = ignore

    def results(
        self, name: str, candidates: Sequence[Candidate], go_on: Callable[[float], bool], always: int = 1
    ) -> Iterator[tuple[Candidate, TrainingResult]]:
        """Yield the result of each candidate, until the time is over.

        Args:
            name: What the decision to stop is kept as.
            candidates: The candidates.
            go_on: Returns whether there is time for another, given how long the last one took.
            always: How many are trained in any case, the first ones.
        """
        ended = self.notebook.scheduled(f"{name} done")
        stopped = set(self.notebook.schedule(f"{name} left out", list)) if ended else set()
        missing: list[Candidate] = []
        for candidate in candidates:
            if candidate.key in stopped:  # it may have been trained since, for a later decision
                continue
            known = self.store.find_evaluation(candidate.setting.key(candidate.architecture))
            if known is not None:
                yield candidate, known
            else:
                missing.append(candidate)
        places: dict[str, int] = {}
        jobs: list[EvaluationJob] = []
        for candidate in missing:
            if candidate_job(candidate) not in places:
                places[candidate_job(candidate)] = len(jobs)
                jobs.append(EvaluationJob(candidate.setting, candidate.setting.dataset.fingerprint))
        by_task = {(places[candidate_job(candidate)], candidate.architecture): candidate for candidate in missing}
        left, took = list(by_task), 0.0

        def tasks() -> Iterator[tuple[int, str]]:
            while left and (ended or len(candidates) - len(left) < always or go_on(took)):
                yield left.pop(0)

        answers = self.executor.map(MixedJob(tuple(jobs)), tasks())
        for done, (task, result) in enumerate(answers, start=1):
            candidate = by_task[task]
            if isinstance(result, Lost):
                result = TrainingResult((), result.status, result.reason)
            took = result.seconds
            self.store.add_evaluation(candidate.setting.key(candidate.architecture), result)
            self.notebook.save()
            self.callback(Event("training", done, len(missing), note=name))
            yield candidate, result
        self.notebook.schedule(f"{name} left out", lambda: [by_task[task].key for task in left])
        self.notebook.schedule(f"{name} done", lambda: True)


def candidate_job(candidate: Candidate) -> str:
    """Return a text that is the same for candidates that one job can train."""
    setting = candidate.setting
    return f"{setting.space_key}|{setting.skeleton}|{setting.recipe}|{setting.seed}"


def rung(
    trainings: Trainings, name: str, candidates: Sequence[Candidate], epochs: int, until: float, always: int = 1
) -> tuple[list[Ranked], int]:
    """Train candidates alike, and rank them.

    If fewer than half are better than chance, they have not been told apart: they are trained again for twice as long,
    as far as there is time.

    Args:
        trainings: Where and how to train.
        name: A name for what is decided.
        candidates: The networks.
        epochs: The number of epochs.
        until: The share of the time after which no further training is begun.
        always: How many are trained in any case, the first ones.

    Returns:
        The networks, the best first, and the number of epochs in the end.
    """
    notebook = trainings.notebook
    for doubling in range(MOST_DOUBLINGS + 1):
        trained = [candidate.with_recipe(epochs=epochs) for candidate in candidates]
        title = f"{name}, {epochs} epoch{'s' * (epochs != 1)}"
        results = list(trainings.results(title, trained, lambda took: notebook.left(until) > took, always))
        ranked = sorted(map(_ranked, results), key=lambda entry: entry.order)
        learned = sum(entry.stage == "learned" for entry in ranked)
        again = doubling < MOST_DOUBLINGS and 2 * learned < len(ranked)
        if not again or not notebook.schedule(f"{title} doubled", lambda: notebook.left(until) > 0):
            break
        starting = sum(entry.stage == "starting" for entry in ranked)
        notebook.say(
            f"{len(ranked) - learned} of {len(ranked)} networks are at chance after {epochs} epochs, {starting} of "
            f"them with a falling loss: they are trained again for {2 * epochs}."
        )
        epochs *= 2
    return ranked, epochs


def _ranked(entry: tuple[Candidate, TrainingResult]) -> Ranked:
    candidate, result = entry
    data = candidate.setting.dataset
    return Ranked(candidate, result, stage_of(result, data.classes, len(data.y_val)))


def promoted(ranked: Sequence[Ranked]) -> list[Candidate]:
    """Return the candidates that go on: the better third, and the best baseline in any case.

    At most half of them are of one space, as long as there are others: some learn fast and get no better.
    """
    count = max(2, math.ceil(len(ranked) / KEPT))
    chosen: list[int] = []
    spaces: Counter[str] = Counter()
    for place, entry in enumerate(ranked):
        space = entry.candidate.setting.space_name
        if len(chosen) < count and spaces[space] < math.ceil(count / 2):
            chosen.append(place)
            spaces[space] += 1
    chosen += [place for place in range(len(ranked)) if place not in chosen][: count - len(chosen)]
    kept = [ranked[place].candidate for place in sorted(chosen)]
    if not any(candidate.baseline for candidate in kept):
        kept += [entry.candidate for entry in ranked if entry.candidate.baseline][:1]
    if all(candidate.baseline for candidate in kept):
        kept += [entry.candidate for entry in ranked if not entry.candidate.baseline][:1]
    return kept


def leaders_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the first that is no baseline and the first baseline before all others."""
    found = [candidate for candidate in candidates if not candidate.baseline]
    plain = [candidate for candidate in candidates if candidate.baseline]
    return [
        *found[:1],
        *plain[:1],
        *(candidate for candidate in candidates if candidate not in (*found[:1], *plain[:1])),
    ]


def seconds_for_leaders(ranked: Sequence[Ranked], epochs: int, workers: int) -> float:
    """Return how long the best network that is no baseline and the best baseline will take, trained for some epochs."""
    leaders = [entry for entry in best_of_each(ranked) if entry is not None]
    return sum(entry.result.seconds / max(1, len(entry.result.epochs)) for entry in leaders) * epochs / workers


def best_of_each(ranked: Sequence[Ranked]) -> tuple[Ranked | None, Ranked | None]:
    """Return the best network that is no baseline, and the best baseline; None if there is none."""
    found = next((entry for entry in ranked if not entry.candidate.baseline), None)
    baseline = next((entry for entry in ranked if entry.candidate.baseline), None)
    return found, baseline
