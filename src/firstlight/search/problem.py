"""What a search algorithm sees: a space to draw from, a way to score, and a budget. Nothing of stores or executors."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import LimitError, NothingScoredError, SettingError
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, members
from firstlight.scoring.costs import Costs, LatencySource, written
from firstlight.scoring.service import ScoreService, source_for
from firstlight.search.judge import SupernetJudge
from firstlight.search.objective import Candidate, Objective
from firstlight.search.one_shot_steps import StepJudge, StepSetting
from firstlight.search.pool import Pool
from firstlight.search.source import Source
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.in_space import in_space

# Up to this size a space is gone through in random order instead of being sampled
SMALL_SPACE = 100_000
# How many draws in a row may bring nothing new before a space counts as exhausted
PATIENCE = 20_000
# The same where each is built and timed, which takes seconds
MEASURED_PATIENCE = 300
# In place of infinity, which has no differences
WORST = 1e300

# How many states were scored, of how many, what is to be said about the last, and which architecture leads
WatchStates = Callable[[int, int | None, str, str], None]


class Problem:
    """`budget` is the number of networks that may be scored; `watch` is told of each one.

    `rejected` counts the networks that were not scored because of the limits: they cost next to nothing. `watch_states`
    is told how many states of supernets have been scored, each time that there is one more, of how many if that is
    known, what else is to be said, and which architecture they lead to so far. `findings` are what an algorithm has
    found out besides, for result and report; `keep` puts by what it has come to, in case that the run is killed.
    """

    def __init__(
        self,
        service: Source,
        objective: Objective,
        rng: random.Random,
        budget: int,
        watch: Callable[[Candidate], None] = lambda candidate: None,
        latency: LatencySource | None = None,
        watch_states: WatchStates = lambda states, total, note, leading: None,
        keep: Callable[[Architecture], None] = lambda leading: None,
    ) -> None:
        self.keep = keep
        self.rng = rng
        self.objective = objective
        self.budget = budget
        self.scored = 0
        self.rejected = 0
        self.notes: list[str] = []  # what the user should know about how the search went
        self.pool = Pool(objective.by)
        self.costs = Costs(service.setting, latency)
        self.findings: dict[str, Any] = {}
        self._judges: list[SupernetJudge | StepJudge] = []
        self._service = service
        self._watch = watch
        self._watch_states = watch_states
        self._nearest: tuple[float, Architecture] | None = None

    @property
    def space(self) -> Space[Any]:
        return self._service.setting.space

    def supernet(
        self,
        by: Criterion | None = None,
        skeleton: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        **changes: Any,
    ) -> SupernetJudge:
        """Judges states of the space's supernet: by the objective, or by something else and under another setting.

        That does not count against the budget, which is one of networks, but in `states_scored`. The run's `repeats`
        are for networks; a state is scored once.
        """
        scorer = self._scorer_of_states()
        run = scorer.setting
        if by is not None:
            changes = {
                "source": source_for(members(by), run.source.name, batch_size, labels=run.source.labels),
                **changes,
            }
        by = by or self.objective.by
        skeleton_settings = tuple(sorted((dict(run.skeleton_settings) | dict(skeleton or {})).items()))
        setting = replace(
            run, **in_space(run.space.supernet()), **{"repeats": 1, "skeleton_settings": skeleton_settings, **changes}
        )
        service = ScoreService(setting, members(by), scorer.executor, scorer.store)
        judge = SupernetJudge(service, by, self.saw_states)
        self._judges.append(judge)
        return judge

    def one_shot(self, **asked: Any) -> StepJudge:
        """Takes steps through the space's one-shot network, which count as states; see `StepSetting`."""
        scorer = self._scorer_of_states()
        judge = StepJudge(StepSetting(scorer.setting, **asked), scorer.executor, scorer.store)
        self._judges.append(judge)
        return judge

    def saw_states(self, total: int | None = None, note: str = "", leading: str = "") -> None:
        self._watch_states(self.states_scored, total, note, leading)

    def _scorer_of_states(self) -> ScoreService:
        if self.scorer is None:
            raise SettingError(
                "States of a supernet are judged by a proxy: they cannot be looked up or trained. Name one, as in "
                "zero-cost-pt@dextr."
            )
        return self.scorer

    @property
    def scorer(self) -> ScoreService | None:
        """Who asks the proxies, if that is what networks are judged by."""
        return self._service if isinstance(self._service, ScoreService) else None

    @property
    def states_scored(self) -> int:
        """How many states of supernets the search has looked at."""
        return sum(judge.scored for judge in self._judges)

    @property
    def states_reused(self) -> int:
        """How many of them were known from before."""
        return sum(judge.reused for judge in self._judges)

    @property
    def state_seconds(self) -> float:
        """How long scoring them took."""
        return math.fsum(judge.seconds for judge in self._judges)

    @property
    def reused_state_seconds(self) -> float:
        """How long that had taken of those known from before."""
        return math.fsum(judge.reused_seconds for judge in self._judges)

    @property
    def remaining(self) -> int:
        return self.budget - self.scored

    def score(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        """Score different architectures, as many as the budget still allows, as they become known."""
        texts: Iterable[str] = map(str, itertools.islice(architectures, self.remaining))
        if "latency" in (*self.objective.limits.bounds, *self.objective.costs):
            texts = list(texts)
            for text in texts:  # while latencies are measured, no worker shall be busy
                self.costs.amount(self.space.parse(text), "latency")
        for network in self._service.scores(texts):
            candidate = Candidate(network, self.objective.utility(network))
            self.scored += 1
            self.pool.add(network)
            self._watch(candidate)
            yield candidate

    def score_all(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """The same in the order asked, which does not depend on how many workers there are; each one once."""
        asked = list(itertools.islice(architectures, self.remaining))
        found = {candidate.network.architecture: candidate for candidate in self.score(asked)}
        return [found[text] for text in dict.fromkeys(map(str, asked)) if text in found]

    def allows(self, architecture: Architecture) -> bool:
        """Whether papers would admit the network and it keeps within the limits, which needs none with weights."""
        if not self.space.customary(architecture):
            self.rejected += 1
            return False
        excess = self.objective.limits.excess(functools.partial(self.costs.amount, architecture))
        if excess:
            self.rejected += 1
            if excess < (math.inf if self._nearest is None else self._nearest[0]):
                self._nearest = excess, architecture
        return not excess

    def best_of(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best of some that were scored; an ensemble judges them among all."""
        return max(candidates, key=self._merit)

    def worth(self, candidate: Candidate) -> float | None:
        """How good one that was scored is: higher is better, None without a score. An ensemble judges it among all."""
        if isinstance(self.objective.by, Ensemble):
            return self.pool.utility(candidate.network.architecture)
        return candidate.utility

    def _merit(self, candidate: Candidate) -> float:
        worth = self.worth(candidate)
        return -math.inf if worth is None else worth

    def network(self, text: str) -> NetworkScore:
        """All that is known of a network that was scored."""
        return next(iter(self._service.scores([text])))

    def points(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """What each of some scored networks reaches of everything wanted: its merit, and the costs turned around.

        A network without a score, or that a device cannot run, is as bad as can be in everything.
        """
        rows = [
            (merit, *(-amount for amount in self.costs.amounts(self.space.parse(text), self.objective.costs).values()))
            for text, merit in zip(texts, self.pool.merits_of(texts), strict=True)
        ]
        points = np.array(rows, dtype=float)
        points[~np.isfinite(points).all(axis=1)] = -WORST
        return points

    def distinct_samples(self) -> Iterator[Architecture]:
        """Random architectures within the limits, no two of which are the same to a search."""
        seen: set[Architecture] = set()
        found = False
        misses = 0
        patience: float = math.inf if self._is_small() else PATIENCE
        if "latency" in self.objective.limits.bounds and self.costs.measures_latency:
            patience = MEASURED_PATIENCE
        for architecture in map(self.space.identity, self._draws()):
            misses += 1
            if misses > patience:
                break
            if architecture in seen:
                continue
            seen.add(architecture)
            if self.allows(architecture):
                found, misses = True, 0
                yield architecture
        if not found:
            raise self.limits_too_tight()

    def limits_too_tight(self) -> LimitError | NothingScoredError:
        """That no network was found within the limits, and which one came nearest; or that none could be built."""
        limits = self.objective.limits
        if self._nearest is None and self.costs.failure:
            return NothingScoredError(
                f"None of the {self.rejected:,} networks of {self.space.name!r} that were tried can be built and run. "
                f"One of them is {self.costs.failure}"
            )
        nearest = ""
        if self._nearest is not None:
            architecture = self._nearest[1]
            amounts = self.costs.amounts(architecture, limits.bounds)
            has = " and ".join(written(name, amount) for name, amount in amounts.items())
            nearest = f" The nearest has {has}: {architecture}."
        return LimitError(
            f"No network of {self.space.name!r} was found to meet the limits ({limits}) among {self.rejected:,} tried."
            f"{nearest} Change the limits, or take another skeleton."
        )

    def _draws(self) -> Iterator[Architecture]:
        """A small space once through in random order, so that nothing is missed; a large one at random without end."""
        if self._is_small():
            everything = list(self.space)
            self.rng.shuffle(everything)
            yield from everything
            return
        while True:
            yield self.space.sample(self.rng)

    def _is_small(self) -> bool:
        try:
            return len(self.space) <= SMALL_SPACE
        except (TypeError, OverflowError):  # the space cannot be counted, or is too large for it
            return False
