"""What a search algorithm sees: a space to draw from, a way to score, and a budget. Stores and executors are hidden."""

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
from firstlight.core.events import Callback, Event, ignore
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

# Up to this size, a space is enumerated in random order instead of being sampled.
SMALL_SPACE = 100_000
# A space counts as exhausted after this many draws in a row that bring nothing new.
PATIENCE = 20_000
# The same where each network is built and timed, which takes seconds.
MEASURED_PATIENCE = 300
# Used instead of infinity, so that differences are defined.
WORST = 1e300


class Problem:
    """What a search algorithm sees: a space to draw from, a way to score networks, and a budget.

    Scores come from proxies, or from true performance in a query search; the algorithm does not need to know which. It
    draws random numbers only from `rng`, so that a search finds the same networks on any number of workers.

    Attributes:
        space: The search space.
        rng: The random numbers of the search.
        budget: The number of networks that may be scored.
        scored: The number of networks scored so far.
        rejected: The number of networks outside the limits. They cost almost nothing.
        objective: What to maximize, the limits, and the costs to minimize.
        pool: All networks scored so far: `pool.best(10)` returns the texts of the ten best.
        notes: Remarks for the user, which the result and the report show.
        findings: Other results of the algorithm, for the result and for the report block that it declares.

    >>> @firstlight.algorithm
    ... def climb(problem, *, neighbors: int = 4):
    ...     for start in problem.distinct_samples():
    ...         if not problem.remaining:
    ...             return
    ...         better = [] if str(start) in problem.pool else problem.score([start])
    ...         while better and problem.remaining:
    ...             origin = problem.space.parse(problem.best_of(better).network.architecture)
    ...             around = {problem.space.mutate(origin, problem.rng): None for _ in range(neighbors)}
    ...             new = [a for a in around if str(a) not in problem.pool and problem.fits(a)]
    ...             better = problem.score(new)
    """

    def __init__(
        self,
        source: Source,
        objective: Objective,
        rng: random.Random,
        budget: int,
        *,
        latency: LatencySource | None = None,
        callback: Callback = ignore,
        keep: Callable[[Architecture], None] = lambda leading: None,
    ) -> None:
        """Describe a problem. A search does that itself; algorithms are handed the result.

        Args:
            source: Where scores come from.
            objective: What is maximized, under which limits.
            rng: The random numbers of the search.
            budget: The number of networks that may be scored.
            latency: Where latencies come from, if the objective has any.
            callback: Called with an event for each network and each state of a supernet.
            keep: Stores the architecture that a long search leads to so far, in case the search is killed.
        """
        self.keep = keep
        self.rng = rng
        self.objective = objective
        self.budget = budget
        self.scored = 0
        self.rejected = 0
        self.notes: list[str] = []
        self.pool = Pool(objective.by)
        self.costs = Costs(source.setting, latency, objective.limits.precision)
        self.findings: dict[str, Any] = {}
        self._judges: list[SupernetJudge | StepJudge] = []
        self._source = source
        self._callback = callback
        self._nearest: tuple[float, Architecture] | None = None

    @property
    def space(self) -> Space[Any]:
        """The search space."""
        return self._source.setting.space

    @property
    def remaining(self) -> int:
        """The number of networks that may still be scored."""
        return self.budget - self.scored

    def score(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """Score networks, as many as the budget still allows.

        Args:
            architectures: The architectures. They should differ from each other and from those scored before.

        Returns:
            A candidate for each different architecture, in the order requested, whatever the number of workers.
        """
        asked = list(itertools.islice(architectures, self.remaining))
        found = {candidate.network.architecture: candidate for candidate in self.score_as_completed(asked)}
        return [found[text] for text in dict.fromkeys(map(str, asked)) if text in found]

    def score_as_completed(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        """Score networks like `score`, and yield each one as soon as it is known, in any order."""
        texts: Iterable[str] = map(str, itertools.islice(architectures, self.remaining))
        if "latency" in (*self.objective.limits.bounds, *self.objective.costs):
            texts = list(texts)
            for text in texts:  # no worker may be busy while latencies are measured
                self.costs.amount(self.space.parse(text), "latency")
        for network in self._source.scores(texts):
            candidate = Candidate(network, self.objective.utility(network))
            self.pool.add(network)
            self._count(candidate)
            yield candidate

    def evaluate(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """Ask for the true performance of networks, in a query search.

        Args:
            architectures: The architectures. As many are evaluated as the budget still allows.

        Returns:
            A candidate for each different architecture, in the order asked.

        Raises:
            SettingError: If the search has no source of true performance. Declare `needs=("truth",)` to be refused
                before any work starts.
        """
        raise SettingError(
            "This search uses a proxy and cannot query the true performance of networks. Name data to train them "
            "on (--data digits), or a table of trained networks (--table FILE)."
        )

    def _count(self, candidate: Candidate) -> None:
        self.scored += 1
        text = candidate.network.architecture
        self._callback(Event("scoring", self.scored, self.budget, candidate, architecture=text))

    def explain(self, note: str, architecture: str) -> None:
        """Report to the callback how an architecture was chosen."""
        self._callback(Event("scoring", self.scored, self.budget, note=note, architecture=architecture))

    def fits(self, architecture: Architecture) -> bool:
        """Return whether a network is within the limits. It is not built with weights."""
        if not self.space.customary(architecture):
            self.rejected += 1
            return False
        excess = self.objective.limits.excess(functools.partial(self.costs.amount, architecture))
        if excess:
            self.rejected += 1
            if excess < (math.inf if self._nearest is None else self._nearest[0]):
                self._nearest = excess, architecture
        return not excess

    def utility(self, candidate: Candidate) -> float | None:
        """Return the utility of a scored network: higher is better, None without a score.

        An ensemble ranks it among all networks scored so far.
        """
        if isinstance(self.objective.by, Ensemble):
            return self.pool.utility(candidate.network.architecture)
        return candidate.utility

    def best_of(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the candidate with the highest utility; the first one if several are equal."""
        return max(candidates, key=self._utility_or_lowest)

    def _utility_or_lowest(self, candidate: Candidate) -> float:
        utility = self.utility(candidate)
        return -math.inf if utility is None else utility

    def supernet(
        self,
        by: Criterion | None = None,
        skeleton: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        **changes: Any,
    ) -> SupernetJudge:
        """Return a judge that scores states of the space's supernet.

        States count in `states_scored`, not toward the budget, which is a number of networks. The `repeats` of the
        search are for networks; a state is scored once.

        Args:
            by: The proxy or ensemble; by default that of the objective.
            skeleton: Settings of the skeleton that differ from those of the search.
            batch_size: Inputs in a batch, with `by`; by default what its proxies need.
            **changes: Other fields of the `Setting` that differ from those of the search.
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
        judge = SupernetJudge(service, by, lambda event: self.report_states())
        self._judges.append(judge)
        return judge

    def one_shot(self, **asked: Any) -> StepJudge:
        """Return a judge that takes steps through the space's one-shot network, which count as states.

        Args:
            **asked: Fields of `StepSetting`.
        """
        scorer = self._scorer_of_states()
        judge = StepJudge(StepSetting(scorer.setting, **asked), scorer.executor, scorer.store)
        self._judges.append(judge)
        return judge

    def report_states(self, total: int | None = None, note: str = "", leading: str = "") -> None:
        """Report to the callback how many states were scored.

        Args:
            total: How many there are, if that is known.
            note: A remark on the last one.
            leading: The text of the architecture that they lead to so far.
        """
        self._callback(Event("states", self.states_scored, total, note=note, architecture=leading))

    def _scorer_of_states(self) -> ScoreService:
        if self.scorer is None:
            raise SettingError(
                "States of a supernet can only be scored by a proxy, not looked up or trained. Name a proxy, as in "
                "zero-cost-pt@dextr."
            )
        return self.scorer

    @property
    def scorer(self) -> ScoreService | None:
        """The service that asks the proxies, if networks are scored by proxies."""
        return self._source if isinstance(self._source, ScoreService) else None

    @property
    def states_scored(self) -> int:
        """The number of states of supernets that were scored."""
        return sum(judge.scored for judge in self._judges)

    @property
    def states_reused(self) -> int:
        """The number of states that came from the store."""
        return sum(judge.reused for judge in self._judges)

    @property
    def state_seconds(self) -> float:
        """The seconds that scoring states took, now or earlier."""
        return math.fsum(judge.seconds for judge in self._judges)

    @property
    def reused_state_seconds(self) -> float:
        """The seconds that states from the store had taken."""
        return math.fsum(judge.reused_seconds for judge in self._judges)

    def network(self, text: str) -> NetworkScore:
        """Return all that is known about a scored network."""
        return next(iter(self._source.scores([text])))

    def objective_values(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the objective values of scored networks: the utility, and the costs negated, so that higher is better.

        A network without a score, or that a device cannot run, has the lowest values.
        """
        rows = [
            (
                utility,
                *(-amount for amount in self.costs.amounts(self.space.parse(text), self.objective.costs).values()),
            )
            for text, utility in zip(texts, self.pool.utilities_of(texts), strict=True)
        ]
        values = np.array(rows, dtype=float)
        values[~np.isfinite(values).all(axis=1)] = -WORST
        return values

    def distinct_samples(self) -> Iterator[Architecture]:
        """Yield random architectures within the limits, each one once.

        A small space is enumerated in random order. Otherwise, it ends when many draws in a row yield nothing new.

        Raises:
            LimitError: If no architecture was found within the limits.
        """
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
            if self.fits(architecture):
                found, misses = True, 0
                yield architecture
        if not found:
            raise self.unmet_limits()

    def unmet_limits(self) -> LimitError | NothingScoredError:
        """Return the error that no network fits the limits, with the nearest one; or that none can be built."""
        limits = self.objective.limits
        if self._nearest is None and self.costs.failure:
            return NothingScoredError(
                f"None of {self.rejected:,} networks of {self.space.name!r} can be built and run. "
                f"One of them is {self.costs.failure}"
            )
        nearest = ""
        if self._nearest is not None:
            architecture = self._nearest[1]
            amounts = self.costs.amounts(architecture, limits.bounds)
            has = " and ".join(written(name, amount) for name, amount in amounts.items())
            nearest = f" The closest one has {has}: {architecture}."
        return LimitError(
            f"No network of {self.space.name!r} within the limits ({limits}) was found among {self.rejected:,} tried."
            f"{nearest} Change the limits, or use another skeleton."
        )

    def _draws(self) -> Iterator[Architecture]:
        """Yield a small space in random order, so that nothing is missed; from a large one, draw without end."""
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
        except (TypeError, OverflowError):  # it cannot be counted, or its size is too large for `len`
            return False
