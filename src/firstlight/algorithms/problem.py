"""What a search algorithm sees: a space to draw from, a way to score, and a budget. Nothing of stores or executors."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from firstlight.algorithms.ensembles import Criterion, members, utilities
from firstlight.algorithms.judge import SupernetJudge
from firstlight.algorithms.objective import Candidate, Objective, best_first
from firstlight.data import InputSource
from firstlight.errors import LimitError
from firstlight.run.in_space import in_space
from firstlight.run.scoring import NetworkScore, ScoreService, source_for
from firstlight.spaces import Architecture, Space

# Up to this size a space is gone through in random order instead of being sampled
SMALL_SPACE = 100_000
# How many draws in a row may bring nothing new before a space counts as exhausted
PATIENCE = 20_000


class Problem:
    """`budget` is the number of networks that may be scored; `watch` is told of each one.

    All that were scored are remembered, because an ensemble judges them together: `ranked` and `best` ask it anew.
    """

    def __init__(
        self,
        service: ScoreService,
        objective: Objective,
        rng: random.Random,
        budget: int,
        watch: Callable[[Candidate], None] = lambda candidate: None,
    ) -> None:
        self.rng = rng
        self.objective = objective
        self.budget = budget
        self.scored = 0
        self._pool: dict[str, NetworkScore] = {}
        self._judges: list[SupernetJudge] = []
        self._service = service
        self._watch = watch

    @property
    def space(self) -> Space[Any]:
        return self._service.setting.space

    @property
    def source(self) -> InputSource:
        """Where the inputs that networks are shown come from."""
        return self._service.setting.source

    def supernet(
        self, by: Criterion | None = None, skeleton: Mapping[str, Any] | None = None, **changes: Any
    ) -> SupernetJudge:
        """Judges states of the space's supernet: by the objective, or by something else and under another setting.

        That does not count against the budget, which is one of networks, but in `states_scored`. The run's `repeats`
        are for networks; a state is scored once.
        """
        run = self._service.setting
        if by is not None:
            changes = {"source": source_for(members(by), run.source.name), **changes}
        by = by or self.objective.by
        skeleton_settings = tuple(sorted((dict(run.skeleton_settings) | dict(skeleton or {})).items()))
        setting = replace(
            run, **in_space(run.space.supernet()), **{"repeats": 1, "skeleton_settings": skeleton_settings, **changes}
        )
        service = ScoreService(setting, members(by), self._service.executor, self._service.store)
        self._judges.append(SupernetJudge(service, by))
        return self._judges[-1]

    @property
    def states_scored(self) -> int:
        """How many states of supernets the search has looked at."""
        return sum(judge.scored for judge in self._judges)

    @property
    def remaining(self) -> int:
        return self.budget - self.scored

    def score(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        """Score different architectures, as many as the budget still allows, as they become known."""
        texts = (str(architecture) for _, architecture in zip(range(self.remaining), architectures, strict=False))
        for network in self._service.scores(texts):
            candidate = Candidate(network, self.objective.utility(network))
            self.scored += 1
            self._pool[network.architecture] = network
            self._watch(candidate)
            yield candidate

    def score_all(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """The same in the order asked, which does not depend on how many workers there are; each one once."""
        asked = list(itertools.islice(architectures, self.remaining))
        found = {candidate.network.architecture: candidate for candidate in self.score(asked)}
        return [found[text] for text in dict.fromkeys(map(str, asked)) if text in found]

    def allows(self, architecture: Architecture) -> bool:
        """Whether the network keeps within the limits, which is known without building it."""
        cost = self.space.cost(architecture, self._service.setting.skeleton)
        return self.objective.limits.allow(cost) and self.space.customary(architecture)

    def beyond_limits(self, networks: Sequence[Architecture]) -> LimitError:
        """What an algorithm has to say that does not look at limits on its way and has come to none within them."""
        costs = [self.space.cost(network, self._service.setting.skeleton) for network in networks]
        params, macs = min(cost.params for cost in costs), min(cost.macs for cost in costs)
        return LimitError(
            f"The search came to {len(networks)} different networks of {self.space.name!r}, and none of them meets the "
            f"limits ({self.objective.limits}). The smallest had {params:,} parameters and {macs:,} MACs. Change the "
            "limits, take another skeleton, or an algorithm that draws within the limits, such as evolution."
        )

    def best_of(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best of some that were scored; an ensemble judges them among all."""
        merits = self.merits()
        return max(candidates, key=lambda candidate: merits[candidate.network.architecture])

    def merits(self) -> dict[str, float]:
        """How good each network scored so far is, by its text: higher is better, and lowest without a score."""
        pool = list(self._pool.values())
        known = utilities(self.objective.by, pool)
        return {
            network.architecture: -math.inf if utility is None else utility
            for network, utility in zip(pool, known, strict=True)
        }

    def ranked(self) -> list[Candidate]:
        """All networks scored so far, best first."""
        return best_first(self.objective.by, self._pool.values())

    @property
    def best(self) -> Candidate | None:
        return next(iter(self.ranked()), None)

    def distinct_samples(self) -> Iterator[Architecture]:
        """Random architectures within the limits, no two of which compute the same function."""
        seen: set[Architecture] = set()
        smallest: dict[str, int] = {}
        found = False
        misses = 0
        patience = math.inf if self._is_small() else PATIENCE
        for architecture in map(self.space.canonical, self._draws()):
            misses += 1
            if misses > patience:
                break
            if architecture in seen:
                continue
            seen.add(architecture)
            cost = self.space.cost(architecture, self._service.setting.skeleton)
            if self.objective.limits.allow(cost):
                found, misses = True, 0
                yield architecture
            for name, amount in (("parameters", cost.params), ("MACs", cost.macs)):
                smallest[name] = min(amount, smallest.get(name, amount))
        if not found:
            least = " and ".join(f"{amount:,} {name}" for name, amount in smallest.items())
            raise LimitError(
                f"No network of {self.space.name!r} was found to meet the limits ({self.objective.limits}) among "
                f"{len(seen):,} different ones. The smallest had {least}; raise the limits or take a smaller skeleton."
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
