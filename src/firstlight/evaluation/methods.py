"""Methods to compare: algorithms that search by true performance, or by a proxy that costs no training."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from firstlight.core.errors import LimitError, SettingError, UnknownNameError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.importing import import_named
from firstlight.core.seeds import python_generator
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.truth import TRUTH
from firstlight.proxies import PROXIES
from firstlight.proxies.base import Proxy
from firstlight.proxies.requests import ProxyRequest, refuse_ensemble
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.algorithm import Algorithm, AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.queries import Queries
from firstlight.search.source import Source, Truth

# Networks of a pool are scored by proxies once, and not again for every seed of a comparison.
MEASURED_WITH = 0


@dataclass(frozen=True)
class Query:
    """One query of a method.

    Attributes:
        architecture: The text of the network.
        value: Its utility; None if there is none.
        epochs: The number of epochs it was trained for; None for a proxy.
        seconds: What the answer cost; None if unknown.
    """

    architecture: str
    value: float | None
    epochs: int | None
    seconds: float | None


class Method(ABC):
    """A method. Its text form is its name in results."""

    @property
    def asks_fidelities(self) -> bool:
        """Whether it chooses how long networks are trained."""
        return False

    @abstractmethod
    def check(self, contest: Contest) -> None:
        """Check before any work that it can be run.

        Raises:
            FirstlightError: If it cannot.
        """

    def remark(self, contest: Contest) -> str:
        """Return what a reader must know to understand its results; "" for nothing."""
        return ""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def run(self, contest: Contest, budget: int, seed: int, callback: Callback = ignore) -> list[Query]:
        """Run the method.

        Args:
            contest: Where true performance and scores come from.
            budget: The number of queries.
            seed: The seed of its random numbers.
            callback: Called with an event for each query, whose item is the candidate, and each state of a supernet.

        Returns:
            The queries in their order.
        """


@dataclass(frozen=True)
class ByTruth(Method):
    """An algorithm that searches by true performance."""

    algorithm: AlgorithmRequest

    def __str__(self) -> str:
        return str(self.algorithm)

    @property
    def asks_fidelities(self) -> bool:
        return self.algorithm.algorithm.fidelities

    def check(self, contest: Contest) -> None:
        self.algorithm.algorithm.check(contest.truth.setting.space)
        if self.algorithm.algorithm.searches_supernet:
            raise SettingError(f"{self} searches a supernet with a proxy. Name the proxy after an @: {self}@dextr.")

    def remark(self, contest: Contest) -> str:
        if self.algorithm.algorithm.needs_truth:
            return (
                f"{self} uses proxies to choose the networks to evaluate. They score networks built with seed "
                f"{MEASURED_WITH}, whatever the seed of the search. Seconds include scoring."
            )
        if not self.asks_fidelities:
            return ""
        levels = " and ".join(map(str, contest.truth.fidelities))
        if len(contest.truth.fidelities) < 2:
            return f"{self} chooses between fidelities, but there is only one here."
        return f"{self} chooses between {levels} epochs; each is a separate query."

    def run(self, contest: Contest, budget: int, seed: int, callback: Callback = ignore) -> list[Query]:
        measuring = Measuring(_setting(contest, [], MEASURED_WITH), contest.executor, contest.store)
        return _run(self, self.algorithm, contest.truth, TRUTH, budget, seed, callback, measuring)


@dataclass(frozen=True)
class ByProxy(Method):
    """An algorithm that searches by a proxy: the best network is looked up at the end, which costs nothing."""

    algorithm: AlgorithmRequest
    proxy: ProxyRequest

    def __str__(self) -> str:
        return f"{self.algorithm}@{self.proxy}"

    def check(self, contest: Contest) -> None:
        self.algorithm.algorithm.check(contest.truth.setting.space)
        if self.algorithm.algorithm.needs_truth:
            raise SettingError(
                f"{self.algorithm} needs true performance and does not search by a proxy. Leave out @{self.proxy}; "
                "the proxies that choose networks are settings of the algorithm."
            )

    def remark(self, contest: Contest) -> str:
        return f"{self} searches by a proxy: its queries are scores, and its seconds are those of scoring."

    def run(self, contest: Contest, budget: int, seed: int, callback: Callback = ignore) -> list[Query]:
        proxy = self.proxy.for_space(contest.truth.setting.space_name)
        service = _ProxyService(_setting(contest, [proxy], seed), proxy, contest)
        return _run(self, self.algorithm, service, proxy, budget, seed, callback)


def _setting(contest: Contest, proxies: Sequence[ProxyRequest], seed: int) -> Setting:
    """Return how networks are made and what they are shown when proxies score them."""
    return Setting(
        contest.truth.setting.space_name,
        own_space=contest.truth.setting.own_space,
        source=source_for(proxies, contest.input),
        seed=seed,
        skeleton_settings=contest.skeleton_settings,
        device=contest.device,
    )


class _ProxyService(ScoreService):
    """Scores of a proxy as a source of truth with one fidelity, of networks whose true performance can be looked up."""

    fidelities: tuple[int, ...] = ()

    def __init__(self, setting: Setting, proxy: ProxyRequest, contest: Contest) -> None:
        super().__init__(setting, [proxy], contest.executor, contest.store)
        self.knows = contest.truth.knows

    def at(self, epochs: int) -> Source:
        return self


def _run(
    method: Method,
    algorithm: AlgorithmRequest,
    truth: Truth,
    by: ProxyRequest,
    budget: int,
    seed: int,
    callback: Callback,
    measuring: Measuring | None = None,
) -> list[Query]:
    queries: list[Query] = []

    def record(event: Event) -> None:
        callback(event)
        candidate = event.item
        if not isinstance(candidate, Candidate):
            return
        score = candidate.network.scores[str(by)]
        epochs = score.parts.get("epochs") if by is TRUTH else None
        seconds = score.seconds if isfinite(score.seconds) else None
        architecture = candidate.network.architecture
        queries.append(Query(architecture, candidate.utility, None if epochs is None else int(epochs), seconds))

    rng = python_generator(seed, "compare", str(method))
    problem = Queries(truth, Objective(by), rng, budget, measuring=measuring, callback=record)
    try:
        algorithm.run(problem)
    except LimitError:  # the true performance of the network that it decides on is not known
        if not algorithm.algorithm.searches_supernet:
            raise
    if queries and problem.state_seconds:  # work that was done before the first query
        first = queries[0]
        queries[0] = replace(first, seconds=(first.seconds or 0.0) + problem.state_seconds)
    return queries


def parse_methods(text: str) -> list[Method]:
    """Read several methods, separated by commas outside of brackets."""
    return [parse_method(part) for part in re.split(r",(?![^(]*\))", text)]


def parse_method(given: str | Algorithm | Proxy) -> Method:
    """Read a method: an algorithm, an algorithm with a proxy, or a proxy, which scores random networks.

    Args:
        given: `ALGORITHM` with its settings, `ALGORITHM@PROXY`, `PROXY`, or an object. Names may be `module:name`.

    Raises:
        UnknownNameError: If there is neither an algorithm nor a proxy of this name.
        SettingError: If it is an ensemble: its value of a network changes with every other network that is scored.
    """
    if not isinstance(given, str):
        if isinstance(given, Proxy):
            return ByProxy(AlgorithmRequest.parse("random"), ProxyRequest.of(given))
        return ByTruth(AlgorithmRequest.parse(given, for_queries=True))
    searched, at, proxy = given.strip().partition("@")
    if at:
        return ByProxy(AlgorithmRequest.parse(searched), ProxyRequest.parse(proxy))
    name, _ = ALGORITHMS.split(searched)
    if name in ALGORITHMS or (":" in name and name not in PROXIES and isinstance(import_named(name), Algorithm)):
        return ByTruth(AlgorithmRequest.parse(searched, for_queries=True))
    name, _ = PROXIES.split(searched)
    if name in PROXIES or ":" in name:
        return ByProxy(AlgorithmRequest.parse("random"), ProxyRequest.parse(searched))
    refuse_ensemble(name)
    raise UnknownNameError("method", name, [*ALGORITHMS, *PROXIES])
