"""What an algorithm learns about a supernet: how good its states are beside each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from firstlight.core.errors import FirstlightError
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, members, utilities
from firstlight.scoring.service import ScoreService
from firstlight.spaces.supernets import State, Supernet


class SupernetJudge:
    """Scores states as networks are scored: on the same workers, and kept in the same store."""

    def __init__(self, service: ScoreService, by: Criterion, watch: Callable[[], None] = lambda: None) -> None:
        self._service = service
        self._by = by
        self._watch = watch
        self._known: dict[str, NetworkScore] = {}

    @property
    def supernet(self) -> Supernet:
        space = self._service.setting.space
        assert isinstance(space, Supernet)
        return space

    @property
    def scored(self) -> int:
        """How many different states were asked for."""
        return len(self._known)

    @property
    def reused(self) -> int:
        """How many of them were known from before."""
        return sum(network.reused for network in self._known.values())

    @property
    def seconds(self) -> float:
        """Of computing."""
        return math.fsum(network.seconds for network in self._known.values())

    @property
    def reused_seconds(self) -> float:
        """Those of what was known from before."""
        return math.fsum(network.seconds for network in self._known.values() if network.reused)

    def utilities(self, states: Sequence[State]) -> list[float | None]:
        """How good each is: higher is better, None without a score. An ensemble ranks these states and no others."""
        texts = list(map(str, states))
        for network in self._service.scores(text for text in texts if text not in self._known):
            self._known[network.architecture] = network
            self._watch()
        return utilities(self._by, [self._known[text] for text in texts])

    def worst(self, states: Sequence[State]) -> int:
        """The place of the state with the lowest score, of equals the first; those without a score do not count."""
        known = self._scored(states)
        return min(known, key=lambda place: known[place])

    def best(self, states: Sequence[State]) -> int:
        """The same with the highest score."""
        known = self._scored(states)
        return max(known, key=lambda place: known[place])

    def gains(self, state: State, others: Sequence[State]) -> list[float]:
        """By which part of its score each of the others is better than the state; -inf without a score."""
        before, *after = self.utilities([state, *others])
        if before is None:
            raise self._unscored([state])
        return [-math.inf if utility is None else (utility - before) / abs(before) for utility in after]

    def _scored(self, states: Sequence[State]) -> dict[int, float]:
        found = {place: utility for place, utility in enumerate(self.utilities(states)) if utility is not None}
        if not found:
            raise self._unscored(states)
        return found

    def _unscored(self, states: Sequence[State]) -> FirstlightError:
        score = self._known[str(states[0])].scores[str(members(self._by)[0])]
        return FirstlightError(
            f"The supernet cannot be searched by {self._by}, which gives none of {len(states)} states a score. One of "
            f"them, {states[0]}, ended with {score.status}: {score.note}"
        )
