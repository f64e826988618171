"""One search from beginning to end: open the run's folder, let the algorithm work, write down what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.core.seeds import python_generator
from firstlight.execution.executor import Executor, one_thread
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Ensemble, asked_for, members
from firstlight.scoring.costs import LatencySource
from firstlight.scoring.latency import LatencyRequest, LookedUp, MeasuredHere, time_runs
from firstlight.scoring.service import ScoreService, Setting
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.onlooker import Onlooker
from firstlight.search.problem import Problem
from firstlight.search.queries import Queries
from firstlight.search.result import (
    SearchInterrupted,
    SearchResult,
    SearchSetting,
    front_of,
)
from firstlight.search.run_folder import begin_run, replaced_result, write_result
from firstlight.spaces.base import Architecture
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import Store, open_store

# So many networks in the beginning that a proxy is not made for are enough to give up
HOPELESS = 8


def run_search(
    search: SearchSetting,
    executor: Executor,
    directory: Path | None = None,
    onlooker: Onlooker | None = None,
    afterwards: Callable[[SearchResult], SearchResult] = lambda result: result,
    shared_store: Path | None = None,
    same_versions: bool = False,
) -> SearchResult:
    """Run or resume the search. With a `directory`, every score is kept there and the result is written to it.

    Scores are kept in the `shared_store` instead, if there is one, which other runs may use at the same time.
    `afterwards` may add to the result before it is written down. Ctrl-C raises `SearchInterrupted`, with the result of
    what was scored so far.
    """
    if not isinstance(search.samples, int) or search.samples < 1:
        raise SettingError(f"A search must score at least one network; samples is {search.samples!r}.")
    if isinstance(search.by, Ensemble) and search.samples < 2:
        raise SettingError(
            f"The ensemble {search.by} ranks networks among each other, and samples is 1. Score two or more, or search "
            "by a single proxy."
        )
    algorithm, latency = search.request, LatencyRequest(search.latency)
    algorithm.algorithm.check(search.setting.space)
    if algorithm.algorithm.asks_truth and search.truth is None:
        raise SettingError(
            f"{algorithm.algorithm.name} asks what trained networks reach. Name data to train them on (--data digits), "
            "or a table of trained networks (--table FILE)."
        )
    if algorithm.algorithm.sees_batches and (size := dict(algorithm.settings).get("batch")):
        replace(search.setting.source, batch_size=size, batches=1).check_count()  # what is usual gives way instead
    if search.setting.repeats > 1 and _asks_no_proxy(search):
        raise SettingError(
            f"repeats is {search.setting.repeats}, but every network is asked about once, and no proxy judges any. "
            "Leave repeats out."
        )
    shares_weights = algorithm.algorithm.decides_by_itself
    if search.setting.warm_up is not None and (shares_weights or _asks_no_proxy(search)):
        reason = "looks at a network that shares its weights" if shares_weights else "asks no proxy here"
        raise SettingError(
            f"{algorithm.algorithm.name} {reason}, and a warm-up is for single networks that proxies judge. Leave it "
            "out, or search by a proxy with another algorithm, such as random or evolution."
        )
    if search.latency != SearchSetting.latency and not search.asks_for_latency:
        raise SettingError(
            f"Latencies shall come from {search.latency!r}, but nothing asks for any. Add a limit on latency "
            "(--max-latency 5), or make it an objective (--objectives latency)."
        )
    with open_store(directory, shared_store, same_versions=same_versions) as store:
        run = begin_run(store, search, directory, is_shared=shared_store is not None)
        onlooker = onlooker or Onlooker()
        ledger = _Ledger(store, run, onlooker)
        source = latency.source(search.setting, store) if search.asks_for_latency else None
        problem = ledger.problem = _problem(search, executor, store, ledger, source, onlooker)
        try:
            with executor.staying(), _judged_at_last(store, run, problem):
                algorithm.run(problem)
        except KeyboardInterrupt:
            if not any(utility is not None for utility in problem.pool.utilities().values()):
                raise
            so_far = ledger.result(search, directory, source, finished=False)
            store.keep_result(run, so_far.to_dict())
            raise SearchInterrupted(so_far) from None
        result = ledger.result(search, directory, source)
        result = afterwards(replace(result, notes=(*result.notes, *replaced_result(search, directory))))
        store.finish_run(run, result.to_dict())
    if directory is not None:
        write_result(directory, result, shared_store)
    return result


def _asks_no_proxy(search: SearchSetting) -> bool:
    """Networks are asked about whose choice no proxy has a part in."""
    return search.truth is not None and not search.request.algorithm.asks_truth


def _problem(
    search: SearchSetting,
    executor: Executor,
    store: Store,
    ledger: _Ledger,
    latency: LatencySource | None,
    onlooker: Onlooker,
) -> Problem:
    """By what proxies say, or by what trained networks reach."""
    objective = Objective(search.by, search.limits, search.wanted_costs)
    rng = python_generator(search.setting.seed, "search", search.algorithm)
    if search.truth is None:
        service = ScoreService(
            search.setting,
            asked_for(search.by),
            executor,
            store,
            lambda event: onlooker.warms_up(event.done, event.total or event.done),
        )
        return Problem(service, objective, rng, search.samples, ledger.enter, latency, onlooker.states, ledger.keep)
    measuring = Measuring(search.setting, executor, store, onlooker.measured)
    truth = search.truth.open(executor, store)
    return Queries(truth, objective, rng, search.samples, ledger.enter, measuring, onlooker.asks, latency, ledger.keep)


@contextmanager
def _judged_at_last(store: Store, run: Run, problem: Problem) -> Iterator[None]:
    """An ensemble judges when all are known, or as many as there are when a run is cut off."""
    try:
        yield
    finally:
        if isinstance(problem.objective.by, Ensemble) and len(problem.pool):
            store.set_utilities(run, problem.pool.utilities())


class _Ledger:
    """Writes down every network of a run as it is scored, and sums up at the end."""

    problem: Problem

    def __init__(self, store: Store, run: Run, onlooker: Onlooker) -> None:
        self._store, self._run, self._onlooker = store, run, onlooker
        self._start = time.perf_counter()
        self._earlier = store.elapsed(run)
        self._reused = 0
        self._unsupported = 0  # networks that a proxy is not made for
        self._failures, self._failure = 0, ""  # how many networks failed; the first of them, and why
        self._score_seconds = 0.0
        self._reused_seconds = 0.0

    def enter(self, candidate: Candidate) -> None:
        network = candidate.network
        self._refuse_what_is_never_scored(network)
        self._remember_failure(network)
        self._reused += network.reused
        self._score_seconds += network.seconds
        self._reused_seconds += network.seconds * network.reused
        elapsed = self._earlier + time.perf_counter() - self._start
        expensive = self._expensive_costs(network.architecture)
        self._store.add_trial(
            self._run, Trial(network.architecture, network.cost, candidate.utility, elapsed, expensive)
        )
        self._onlooker.scored(candidate)

    def keep(self, leading: Architecture) -> None:
        """What there is to report of a run that is killed: what it leads to, and what was found out so far."""
        if self._run.finished is None:  # else there is more than that already
            problem = self.problem
            so_far = {
                "best": {"architecture": str(leading)},
                "finished": False,
                "states": problem.states_scored,
                "seconds": time.perf_counter() - self._start,
                "findings": problem.findings,
            }
            self._store.keep_result(self._run, so_far)

    def _refuse_what_is_never_scored(self, network: NetworkScore) -> None:
        """A proxy that is not made for such networks shall not be asked about hundreds of them."""
        asked = map(str, members(self.problem.objective.by))
        unsupported = [name for name in asked if network.scores[name].status == "unsupported"]
        self._unsupported += bool(unsupported)
        if self._unsupported == self.problem.scored == HOPELESS:
            name = unsupported[0]
            raise NothingScoredError(
                f"None of the first {HOPELESS} networks could be scored: {name} is unsupported here. "
                f"{network.scores[name].note} Name another proxy, see `firstlight proxies`."
            )

    def _remember_failure(self, network: NetworkScore) -> None:
        failed = [score.note for score in network.scores.values() if score.status == "failed"]
        if failed:
            self._failures += 1
            self._failure = self._failure or f"{network.architecture}: {failed[0]}"

    def _expensive_costs(self, text: str) -> dict[str, float]:
        """Those that are asked for and do not come with every score."""
        objective = self.problem.objective
        names = [n for n in (*objective.limits.bounds, *objective.costs) if n not in ("params", "macs")]
        return self.problem.costs.amounts(self.problem.space.parse(text), names) if names else {}

    def result(
        self,
        search: SearchSetting,
        directory: Path | None,
        latency: MeasuredHere | LookedUp | None,
        *,
        finished: bool = True,
    ) -> SearchResult:
        problem = self.problem
        places = {text: place for place, text in enumerate(problem.pool.texts)}
        trials = [trial for trial in self._store.trials(self._run) if trial.architecture in places]
        front = front_of(trials, problem.objective.costs) if problem.objective.costs else ()
        best = self._chosen(front[0].architecture if front else None)
        seconds = time.perf_counter() - self._start
        training = self._score_seconds if search.truth else 0.0
        computing = problem.state_seconds + (0.0 if search.truth else self._score_seconds)
        return SearchResult(
            search,
            best,
            problem.scored - self._reused,
            self._reused,
            seconds,
            directory,
            problem.rejected,
            computing,
            computing / _forward_seconds(search.setting, best.architecture),
            front,
            (*problem.notes, *self._notes(search, latency, best.architecture, finished=finished)),
            problem.states_scored,
            self._expensive_costs(best.architecture),
            states_reused=problem.states_reused,
            reused_seconds=(0.0 if search.truth else self._reused_seconds) + problem.reused_state_seconds,
            training_seconds=training,
            judged=problem.judged if isinstance(problem, Queries) else 0,
            findings=problem.findings,
            finished=finished,
            history=self._history(trials, [places[trial.architecture] for trial in trials]),
        )

    def _notes(
        self, search: SearchSetting, latency: MeasuredHere | LookedUp | None, chosen: str, *, finished: bool
    ) -> Iterator[str]:
        if search.truth is not None and isinstance(self.problem, Queries):
            yield from search.truth.remarks(self.problem.truth, chosen)
        if search.setting.source.remark and search.setting.source.remark not in self.problem.notes:
            yield search.setting.source.remark
        missing = self.problem.remaining and finished
        if missing and not search.request.algorithm.decides_by_itself:
            yield f"{self.problem.scored} networks were scored, and not {search.samples}: the search found no others."
        if self._failures:
            yield f"{self._failures} of {self.problem.scored} networks failed. One of them is {self._failure}"
        elif self.problem.costs.failure:
            yield f"Networks that cannot be built or run count as beyond the limits, as {self.problem.costs.failure}"
        if latency is not None and (remark := latency.remark()):
            yield remark
        yield from self._store.remarks()
        if isinstance(self.problem.objective.by, Ensemble) and len(self.problem.pool) == 1:
            yield "Only one network was scored, and an ensemble ranks networks among each other: its value is empty."

    def _history(self, trials: list[Trial], places: list[int]) -> dict[str, list[Any]]:
        worths = self.problem.pool.worths[places]
        asked = members(self.problem.objective.by)
        known = np.where(np.isfinite(worths), worths, np.nan)
        values = {
            str(member): (column if member.proxy.higher_is_better else -column).tolist()
            for member, column in zip(asked, known.T, strict=True)
        }
        expensive = dict.fromkeys(name for trial in trials for name in trial.expensive_costs)
        return {
            "architecture": [trial.architecture for trial in trials],
            **values,
            "utility": [trial.utility for trial in trials],
            "params": [None if trial.cost is None else trial.cost.params for trial in trials],
            "macs": [None if trial.cost is None else trial.cost.macs for trial in trials],
            **{name: [trial.expensive_costs.get(name) for trial in trials] for name in expensive},
            "elapsed": [trial.elapsed for trial in trials],
        }

    def _chosen(self, first_of_front: str | None) -> NetworkScore:
        problem, pool = self.problem, self.problem.pool
        if not len(pool):
            if problem.rejected:
                raise problem.limits_too_tight()
            raise NothingScoredError("The search ended without scoring a single network.")
        text = first_of_front or pool.best(1)[0]
        best = problem.network(text)
        by, utility = pool.by, pool.utility(text)
        if utility is None:
            score = best.scores[str(members(by)[0])]
            raise NothingScoredError(
                f"None of the {problem.scored} networks could be scored. "
                f"One of them, {text}, ended with {score.status}: {score.note}"
            )
        if not isinstance(by, Ensemble):
            return best
        shares = by.shares(pool.worths)[pool.texts.index(text)]
        parts = {str(request): float(share) for request, share in zip(by.requests, shares, strict=True)}
        score = Score(utility, parts, note=f"ranks among {len(pool)} networks as shares, 1 is best")
        return replace(best, scores={str(by): score, **best.scores})


def _forward_seconds(setting: Setting, text: str) -> float:
    """About how long one plain forward pass of one input takes, to say what a search cost in those."""
    model = setting.build(text).eval()
    inputs = setting.inputs.batches[0][0][:1].to(setting.device)
    with torch.inference_mode(), one_thread():
        return time_runs(lambda: model(inputs), warm_up=2, runs=5).median / 1e3
