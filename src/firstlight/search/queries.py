"""Query searches: every score is true performance, and costs the training of a network."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firstlight.core.events import Callback, ignore
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


class Queries(Problem):
    """A query search: every score is true performance, and costs the training of a network.

    The budget is the number of queries, whatever the fidelity of each. Only networks that the source of true
    performance knows fit. Algorithms that do not choose a fidelity get that of the source itself.

    Attributes:
        truth: The source of true performance.
    """

    def __init__(
        self,
        truth: Truth,
        objective: Objective,
        rng: random.Random,
        budget: int,
        *,
        measuring: Measuring | None = None,
        latency: LatencySource | None = None,
        callback: Callback = ignore,
        keep: Callable[[Architecture], None] = lambda leading: None,
    ) -> None:
        """Describe a query search.

        Args:
            truth: The source of true performance.
            objective: What is maximized, under which limits.
            rng: The random numbers of the search.
            budget: The number of queries.
            measuring: Scores networks by proxies, which is not a query; for algorithms that need the truth.
            latency: Where latencies come from, if the objective has any.
            callback: Called with an event for each query.
            keep: Stores the architecture that a long search leads to so far, in case that it is killed.
        """
        super().__init__(_InOrder(truth), objective, rng, budget, latency=latency, callback=callback, keep=keep)
        self.truth = truth
        self._measuring = measuring

    @property
    def scorer(self) -> ScoreService | None:
        return self.truth if isinstance(self.truth, ScoreService) else None

    def measure(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> NDArray[np.float64]:
        """Return the utility of networks by a proxy or an ensemble: higher is better, NaN without a score.

        Args:
            by: The proxy or ensemble. An ensemble ranks these networks and no others.
            networks: The texts of the architectures.
            batch_size: Inputs in a batch; by default what the proxies need.
            twin: The narrow twin on which some proxies are measured, if any.
        """
        assert self._measuring is not None  # whoever runs an algorithm that needs the truth provides it
        found = self._measuring.utilities(by, networks, batch_size, twin)
        self.notes += [remark for remark in self._measuring.remarks if remark not in self.notes]
        return found

    @property
    def measured(self) -> int:
        """The number of networks that were scored by proxies."""
        return len(self._measuring.measured) if self._measuring else 0

    @property
    def state_seconds(self) -> float:
        return super().state_seconds + (self._measuring.seconds if self._measuring else 0.0)

    @property
    def reused_state_seconds(self) -> float:
        return super().reused_state_seconds + (self._measuring.reused_seconds if self._measuring else 0.0)

    @property
    def fidelities(self) -> tuple[int, ...]:
        """The numbers of epochs after which networks can be evaluated, fewest first."""
        return self.truth.fidelities

    def evaluate(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """Ask for the true performance of networks, as many as the budget still allows, in the order asked."""
        return self.score(architectures)

    def evaluate_at(self, architecture: Architecture, epochs: int) -> Candidate:
        """Ask for the performance of one network at a fidelity. It does not join the pool, which has one fidelity."""
        (network,) = self.truth.at(epochs).scores([str(architecture)])
        candidate = Candidate(network, self.objective.utility(network))
        self._count(candidate)
        return candidate

    def fits(self, architecture: Architecture) -> bool:
        """Return whether a network can be evaluated and is within the limits."""
        return self.truth.knows(str(architecture)) and super().fits(architecture)


@dataclass(frozen=True)
class _InOrder:
    """Answers in the order asked, so that queries have the same numbers on any number of workers."""

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
