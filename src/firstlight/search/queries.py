"""A problem judged by true performance: every score is a query, and costs the training of a network."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion
from firstlight.scoring.costs import LatencySource
from firstlight.scoring.service import ScoreService
from firstlight.search.measuring import Measuring, Twin
from firstlight.search.objective import Candidate, Objective
from firstlight.search.problem import Problem
from firstlight.search.source import Source, Truth
from firstlight.spaces.base import Architecture
from firstlight.spaces.in_space import Surroundings

# What an algorithm's name means unless its settings say otherwise: queries are few, so each must be learned from.
# Evolution is as it was published on NAS-Bench-201, with ten networks alive of which the best has the next child.
USUAL_SETTINGS = {"evolution": "population=10:tournament=10:children=1", "reinforce": "batch=1"}


def for_queries(text: str) -> str:
    """The text of a request with what is usual where networks are trained; settings that are written come last."""
    name, _, settings = text.strip().partition(":")
    return ":".join(filter(None, (name, USUAL_SETTINGS.get(name, ""), settings)))


class Queries(Problem):
    """`budget` is the number of queries, whatever the fidelity of each. Networks without an answer are not asked about.

    Algorithms that know nothing of fidelities get the one of the source itself. `measuring` asks proxies about networks
    beside that, which is no query; `watch_words` is told what a query was about.
    """

    def __init__(
        self,
        truth: Truth,
        objective: Objective,
        rng: random.Random,
        budget: int,
        watch: Callable[[Candidate], None] = lambda candidate: None,
        measuring: Measuring | None = None,
        watch_words: Callable[[str, str], None] = lambda note, architecture: None,
        latency: LatencySource | None = None,
        keep: Callable[[Architecture], None] = lambda leading: None,
    ) -> None:
        super().__init__(_InOrder(truth), objective, rng, budget, watch, latency, keep=keep)
        self.truth = truth
        self._told, self._measuring, self._watch_words = watch, measuring, watch_words

    @property
    def scorer(self) -> ScoreService | None:
        return self.truth if isinstance(self.truth, ScoreService) else None

    def measure(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> NDArray[np.float64]:
        """What a proxy or an ensemble says of networks: higher is better, NaN without a score."""
        assert self._measuring is not None  # who runs an algorithm that needs the truth gives it both
        found = self._measuring.utilities(by, networks, batch_size, twin)
        self.notes += [remark for remark in self._measuring.remarks if remark not in self.notes]
        return found

    @property
    def judged(self) -> int:
        """How many networks proxies have judged."""
        return len(self._measuring.judged) if self._measuring else 0

    @property
    def state_seconds(self) -> float:
        return super().state_seconds + (self._measuring.seconds if self._measuring else 0.0)

    @property
    def reused_state_seconds(self) -> float:
        return super().reused_state_seconds + (self._measuring.reused_seconds if self._measuring else 0.0)

    def tell(self, note: str, architecture: str) -> None:
        """How an architecture came to be asked about, for whoever looks on."""
        self._watch_words(note, architecture)

    @property
    def fidelities(self) -> tuple[int, ...]:
        """After how many epochs networks can be judged, fewest first."""
        return self.truth.fidelities

    def score_at(self, architecture: Architecture, epochs: int) -> Candidate:
        """One query of a chosen fidelity. It does not join the pool, where all are judged alike."""
        (network,) = self.truth.at(epochs).scores([str(architecture)])
        candidate = Candidate(network, self.objective.utility(network))
        self.scored += 1
        self._told(candidate)
        return candidate

    def allows(self, architecture: Architecture) -> bool:
        return self.truth.knows(str(architecture)) and super().allows(architecture)


@dataclass(frozen=True)
class _InOrder:
    """Answers in the order asked: queries have the same numbers on any number of workers."""

    source: Source

    @property
    def setting(self) -> Surroundings:
        return self.source.setting

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        waiting = list(dict.fromkeys(architectures))[::-1]
        known: dict[str, NetworkScore] = {}
        for network in self.source.scores(waiting[::-1]):
            known[network.architecture] = network
            while waiting and waiting[-1] in known:
                yield known.pop(waiting.pop())
