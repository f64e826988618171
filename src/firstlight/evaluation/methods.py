"""Methods that compete for the best network: search by true performance, or by a proxy that costs no training."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from firstlight.core.errors import LimitError, SettingError, UnknownNameError
from firstlight.core.seeds import python_generator
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.truth import TRUTH
from firstlight.proxies import PROXIES
from firstlight.proxies.requests import ProxyRequest, refuse_ensemble, split_name
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.queries import Queries, for_queries
from firstlight.search.source import Source, Truth

# Networks of a pool are judged by proxies once, and not anew for every seed of a contest
MEASURED_WITH = 0


@dataclass(frozen=True)
class Query:
    """One network that was asked about: what was said of it, after how many epochs, and what the answer cost.

    The value is None if there was no answer; epochs are None for a proxy, and seconds where they are not known.
    """

    architecture: str
    value: float | None
    epochs: int | None
    seconds: float | None


Watch = Callable[[], None]


class Method(ABC):
    """Its text form names it in results; `run` returns its queries in order."""

    @property
    def asks_fidelities(self) -> bool:
        """Whether it chooses how long networks are trained."""
        return False

    @abstractmethod
    def check(self, contest: Contest) -> None:
        """Say before any work if it cannot be run."""

    def remark(self, contest: Contest) -> str:
        """What must be known to read its results aright."""
        return ""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def run(self, contest: Contest, budget: int, seed: int, watch: Watch) -> list[Query]: ...


@dataclass(frozen=True)
class ByTruth(Method):
    """An algorithm that asks what networks reach."""

    algorithm: AlgorithmRequest

    def __str__(self) -> str:
        return str(self.algorithm)

    @property
    def asks_fidelities(self) -> bool:
        return self.algorithm.algorithm.name == "bohb"

    def check(self, contest: Contest) -> None:
        self.algorithm.algorithm.check(contest.truth.setting.space)
        if self.algorithm.algorithm.decides_by_itself:
            raise SettingError(f"{self} searches a supernet by a proxy. Name it behind an @, as in {self}@dextr.")

    def remark(self, contest: Contest) -> str:
        if self.algorithm.algorithm.asks_truth:
            return (
                f"{self} lets proxies choose what is asked about. They judge networks as seed {MEASURED_WITH} makes "
                "them, whatever the seed; seconds include theirs."
            )
        if not self.asks_fidelities:
            return ""
        levels = " and ".join(map(str, contest.truth.fidelities))
        if len(contest.truth.fidelities) < 2:
            return f"{self} has one fidelity, and is plain TPE."
        return f"{self} chooses between {levels} epochs, and each is a query of its own."

    def run(self, contest: Contest, budget: int, seed: int, watch: Watch) -> list[Query]:
        measuring = Measuring(_setting(contest, [], MEASURED_WITH), contest.executor, contest.store)
        return _run(self, self.algorithm, contest.truth, TRUTH, budget, seed, watch, measuring)


@dataclass(frozen=True)
class ByProxy(Method):
    """An algorithm that asks a proxy: the network of highest score is looked up at the end, and that costs nothing."""

    algorithm: AlgorithmRequest
    proxy: ProxyRequest

    def __str__(self) -> str:
        return f"{self.algorithm}@{self.proxy}"

    def check(self, contest: Contest) -> None:
        self.algorithm.algorithm.check(contest.truth.setting.space)
        if self.algorithm.algorithm.asks_truth:
            raise SettingError(
                f"{self.algorithm} asks what trained networks reach, and not a proxy. Leave @{self.proxy} out; which "
                "proxies it goes by is among its settings."
            )

    def remark(self, contest: Contest) -> str:
        return f"{self} asks a proxy: its queries are networks scored, and its seconds those of scoring."

    def run(self, contest: Contest, budget: int, seed: int, watch: Watch) -> list[Query]:
        setting = _setting(contest, [self.proxy], seed)
        service = _ProxyService(setting, self.proxy, contest)
        return _run(self, self.algorithm, service, self.proxy, budget, seed, watch)


def _setting(contest: Contest, proxies: Sequence[ProxyRequest], seed: int) -> Setting:
    """How networks are made and what they are shown when proxies judge them."""
    return Setting(
        contest.truth.setting.space_name,
        own_space=contest.truth.setting.own_space,
        source=source_for(proxies, contest.input),
        seed=seed,
        skeleton_settings=contest.skeleton_settings,
        device=contest.device,
    )


class _ProxyService(ScoreService):
    """Scores of a proxy, which has one fidelity; only of networks whose truth can be looked up."""

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
    watch: Watch,
    measuring: Measuring | None = None,
) -> list[Query]:
    queries: list[Query] = []

    def write_down(candidate: Candidate) -> None:
        score = candidate.network.scores[str(by)]
        epochs = score.parts.get("epochs") if by is TRUTH else None
        seconds = score.seconds if isfinite(score.seconds) else None
        architecture = candidate.network.architecture
        queries.append(Query(architecture, candidate.utility, None if epochs is None else int(epochs), seconds))
        watch()

    rng = python_generator(seed, "compare", str(method))
    problem = Queries(truth, Objective(by), rng, budget, write_down, measuring)
    try:
        algorithm.run(problem)
    except LimitError:  # what it has decided for is not among the networks whose truth is known
        if not algorithm.algorithm.decides_by_itself:
            raise
    if queries and problem.state_seconds:  # the work was done before, on something else than networks
        first = queries[0]
        queries[0] = replace(first, seconds=(first.seconds or 0.0) + problem.state_seconds)
    return queries


def parse_methods(text: str) -> list[Method]:
    """Several, separated by commas; those in brackets belong to one method."""
    return [parse_method(part) for part in re.split(r",(?![^(]*\))", text)]


def parse_method(text: str) -> Method:
    """`ALGORITHM` with its settings, `ALGORITHM@PROXY`, or `PROXY`, which scores networks at random.

    An ensemble is refused: what it says of a network changes with every other one that is asked about.
    """
    searched, at, proxy = text.strip().partition("@")
    name, _ = split_name(searched)
    if at:
        return ByProxy(AlgorithmRequest.parse(searched), ProxyRequest.parse(proxy))
    if name in ALGORITHMS:
        return ByTruth(AlgorithmRequest.parse(for_queries(searched)))
    if name in PROXIES or ":" in name:
        return ByProxy(AlgorithmRequest.parse("random"), ProxyRequest.parse(searched))
    refuse_ensemble(name)
    raise UnknownNameError("method", name, [*ALGORITHMS, *PROXIES])
