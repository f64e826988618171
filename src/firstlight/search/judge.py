"""Scores of the states of a supernet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from firstlight.core.errors import FirstlightError
from firstlight.core.events import Callback, Event, ignore
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, members, utilities
from firstlight.scoring.service import ScoreService
from firstlight.spaces.supernets import State, Supernet


class SupernetJudge:
    """Scores states as networks are scored: on the same workers, and with the same store.

    Args:
        service: Scores states by the proxies of the criterion.
        by: The proxy or ensemble that states are compared by.
        callback: Called with an event for each state.
    """

    def __init__(self, service: ScoreService, by: Criterion, callback: Callback = ignore) -> None:
        self._service = service
        self._by = by
        self._callback = callback
        self._known: dict[str, NetworkScore] = {}

    @property
    def supernet(self) -> Supernet:
        """The supernet."""
        space = self._service.setting.space
        assert isinstance(space, Supernet)
        return space

    @property
    def scored(self) -> int:
        """The number of different states that were scored."""
        return len(self._known)

    @property
    def reused(self) -> int:
        """The number of states that came from the store."""
        return sum(network.reused for network in self._known.values())

    @property
    def seconds(self) -> float:
        """The seconds that scoring took, now or earlier."""
        return math.fsum(network.seconds for network in self._known.values())

    @property
    def reused_seconds(self) -> float:
        """The seconds that states from the store had taken."""
        return math.fsum(network.seconds for network in self._known.values() if network.reused)

    def utilities(self, states: Sequence[State]) -> list[float | None]:
        """Return the utility of each state: higher is better, None without a score. An ensemble ranks only these."""
        texts = list(map(str, states))
        for network in self._service.scores(text for text in texts if text not in self._known):
            self._known[network.architecture] = network
            self._callback(Event("states", self.scored))
        return utilities(self._by, [self._known[text] for text in texts])

    def worst(self, states: Sequence[State]) -> int:
        """Return the index of the state with the lowest score, the first of equals. A state needs a score to count."""
        known = self._scored(states)
        return min(known, key=lambda place: known[place])

    def best(self, states: Sequence[State]) -> int:
        """Return the index of the state with the highest score, the first of equals."""
        known = self._scored(states)
        return max(known, key=lambda place: known[place])

    def gains(self, state: State, others: Sequence[State]) -> list[float]:
        """Return by which share of its score each of the others is better than the state; -inf without a score."""
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
            f"The supernet cannot be searched with {self._by}: none of {len(states)} states has a score. One of "
            f"them, {states[0]}, has the status {score.status}: {score.note}"
        )
