"""The ledger of a run: every network is stored as it is scored, and summed up in the result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from firstlight.core.errors import NothingScoredError
from firstlight.core.events import Callback, Event
from firstlight.execution.executor import one_thread
from firstlight.options import CHEAP
from firstlight.probe.stages import find_stages
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Ensemble, members
from firstlight.scoring.latency import Estimated, LookedUp, MeasuredHere, time_runs
from firstlight.scoring.service import Setting
from firstlight.search.objective import Candidate
from firstlight.search.problem import Problem
from firstlight.search.queries import Queries
from firstlight.search.result import SearchResult, front_of
from firstlight.search.setting import SearchSetting
from firstlight.spaces.base import Architecture
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import Store

# A search is given up if a proxy does not support any of the first networks.
HOPELESS = 8


class Ledger:
    """Stores every network of a run as it is scored, and sums up at the end. It is the callback of the problem.

    Attributes:
        problem: The problem of the run.
        latency: Where latencies come from, if any are needed.
    """

    problem: Problem
    latency: MeasuredHere | LookedUp | Estimated | None = None

    def __init__(self, search: SearchSetting, store: Store, run: Run, callback: Callback) -> None:
        self.store, self.run = store, run
        self._search, self._callback = search, callback
        self._start = time.perf_counter()
        self._earlier = store.elapsed(run)
        self._reused = 0
        self._unsupported = 0
        self._failures, self._failure = 0, ""  # the number of networks that failed; the first of them, and why
        self._score_seconds = 0.0
        self._reused_seconds = 0.0

    def __call__(self, event: Event) -> None:
        """Store a network that was scored, and pass the event on."""
        if isinstance(event.item, Candidate):
            self._enter(event.item)
        self._callback(event)

    def _enter(self, candidate: Candidate) -> None:
        network = candidate.network
        self._refuse_what_is_never_scored(network)
        self._remember_failure(network)
        self._reused += network.reused
        self._score_seconds += network.seconds
        self._reused_seconds += network.seconds * network.reused
        elapsed = self._earlier + time.perf_counter() - self._start
        expensive = self._expensive_costs(network.architecture)
        self.store.add_trial(self.run, Trial(network.architecture, network.cost, candidate.utility, elapsed, expensive))

    def keep(self, leading: Architecture) -> None:
        """Store what there is to report if the run is killed: the leading architecture, and the findings so far."""
        if self.run.finished is None:  # else there is more than that already
            so_far = {
                "best": {"architecture": str(leading)},
                "finished": False,
                "states": self.problem.states_scored,
                "seconds": time.perf_counter() - self._start,
                "findings": self._findings,
            }
            self.store.keep_result(self.run, so_far)

    @property
    def _findings(self) -> dict[str, Any]:
        """The findings of the algorithm, under the name of the report block that shows them."""
        request = self._search.algorithm
        found = self.problem.findings
        return {request.algorithm.report or request.name: found} if found else {}

    def _refuse_what_is_never_scored(self, network: NetworkScore) -> None:
        """Raise an error if a proxy does not support the networks, instead of trying hundreds of them."""
        asked = map(str, members(self.problem.objective.by))
        unsupported = [name for name in asked if network.scores[name].status == "unsupported"]
        self._unsupported += bool(unsupported)
        if self._unsupported == self.problem.scored == HOPELESS:
            name = unsupported[0]
            raise NothingScoredError(
                f"None of the first {HOPELESS} networks could be scored: {name} does not support them. "
                f"{network.scores[name].note} Use another proxy; `firstlight proxies` lists them."
            )

    def _remember_failure(self, network: NetworkScore) -> None:
        failed = [score.note for score in network.scores.values() if score.status == "failed"]
        if failed:
            self._failures += 1
            self._failure = self._failure or f"{network.architecture}: {failed[0]}"

    def _expensive_costs(self, text: str) -> dict[str, float]:
        """Return the costs that are needed and do not come with every score."""
        objective = self.problem.objective
        names = [name for name in (*objective.limits.bounds, *objective.costs) if name not in CHEAP]
        return self.problem.costs.amounts(self.problem.space.parse(text), names) if names else {}

    def result(self, directory: Path | None, *, finished: bool = True) -> SearchResult:
        """Return the result of the run, or of what was scored so far."""
        problem, search = self.problem, self._search
        places = {text: place for place, text in enumerate(problem.pool.texts)}
        trials = [trial for trial in self.store.trials(self.run) if trial.architecture in places]
        front = front_of(trials, problem.objective.costs) if problem.objective.costs else ()
        best = self._chosen(front[0].architecture if front else None)
        notes = self._notes(best.architecture, [trial.architecture for trial in front], finished=finished)
        scoring, reused = (0.0, 0.0) if search.truth else (self._score_seconds, self._reused_seconds)
        computing = problem.state_seconds + scoring
        space, network = search.setting.space, search.setting.build(best.architecture)
        return SearchResult(
            search,
            best,
            scored=problem.scored - self._reused,
            reused=self._reused,
            seconds=time.perf_counter() - self._start,
            directory=directory,
            rejected=problem.rejected,
            score_seconds=computing,
            forward_passes=computing / _forward_seconds(search.setting, network),
            front=front,
            notes=(*problem.notes, *notes),
            states=problem.states_scored,
            expensive_costs=self._expensive_costs(best.architecture),
            latency_interval=None if self.latency is None else self.latency.interval(best.architecture),
            finished=finished,
            states_reused=problem.states_reused,
            reused_seconds=reused + problem.reused_state_seconds,
            training_seconds=self._score_seconds if search.truth else 0.0,
            judged=problem.measured if isinstance(problem, Queries) else 0,
            findings=self._findings,
            drawing=space.drawing(space.parse(best.architecture), search.skeleton),
            stages=find_stages(network, _one_input(search.setting)) if space.data_kind == "images" else (),
            history=self._history(trials, [places[trial.architecture] for trial in trials]),
        )

    def _notes(self, chosen: str, front: Sequence[str], *, finished: bool) -> Iterator[str]:
        problem, search = self.problem, self._search
        if search.truth is not None and isinstance(problem, Queries):
            yield from search.truth.remarks(problem.truth, chosen)
        if search.setting.source.remark and search.setting.source.remark not in problem.notes:
            yield search.setting.source.remark
        if problem.remaining and finished and not search.algorithm.algorithm.searches_supernet:
            yield f"Only {problem.scored} of {search.samples} networks were scored, because the search found no others."
        if self._failures:
            yield f"{self._failures} of {problem.scored} networks failed. One of them is {self._failure}"
        elif problem.costs.failure:
            yield f"Networks that cannot be built or run count as outside the limits, such as {problem.costs.failure}"
        if self.latency is not None:
            objectives = problem.objective.costs
            yield from self.latency.remarks(chosen, front if "latency" in objectives else ())
        yield from self.store.remarks()
        if isinstance(problem.objective.by, Ensemble) and len(problem.pool) == 1:
            yield "Only one network was scored. An ensemble compares networks, so its value means nothing."

    def _history(self, trials: list[Trial], places: list[int]) -> dict[str, list[Any]]:
        utilities = self.problem.pool.member_utilities[places]
        asked = members(self.problem.objective.by)
        known = np.where(np.isfinite(utilities), utilities, np.nan)
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
                raise problem.unmet_limits()
            raise NothingScoredError("The search ended without scoring a single network.")
        text = first_of_front or pool.best(1)[0]
        best = problem.network(text)
        by, utility = pool.by, pool.utility(text)
        if utility is None:
            score = best.scores[str(members(by)[0])]
            raise NothingScoredError(
                f"None of the {problem.scored} networks could be scored. "
                f"One of them, {text}, has the status {score.status}: {score.note}"
            )
        if not isinstance(by, Ensemble):
            return best
        shares = by.shares(pool.member_utilities)[pool.texts.index(text)]
        parts = {str(request): float(share) for request, share in zip(by.requests, shares, strict=True)}
        score = Score(utility, parts, note=f"ranks among {len(pool)} networks as shares, 1 is best")
        return replace(best, scores={str(by): score, **best.scores})


def _one_input(setting: Setting) -> torch.Tensor:
    found: torch.Tensor = setting.inputs.batches[0][0][:1].to(setting.device)
    return found


def _forward_seconds(setting: Setting, network: nn.Module) -> float:
    """Return about how long a forward pass of one input takes, as a unit for the cost of a search."""
    model, inputs = network.eval(), _one_input(setting)
    with torch.inference_mode(), one_thread():
        return time_runs(lambda: model(inputs), warm_up=2, runs=5).median / 1e3
