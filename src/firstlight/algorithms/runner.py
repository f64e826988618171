"""One search from beginning to end: open the run's folder, let the algorithm work, write down what it found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from firstlight._version import __version__
from firstlight.algorithms import AlgorithmRequest, Candidate, Limits, Objective, Problem
from firstlight.algorithms.ensembles import Criterion, Ensemble, members
from firstlight.errors import FirstlightError, SettingError, StoreError
from firstlight.proxies import Score
from firstlight.run.executor import Executor
from firstlight.run.scoring import NetworkScore, ScoreService, Setting
from firstlight.run.store import Run, Store, Trial, open_store
from firstlight.seeds import python_generator

RESULT_NAME = "result.json"


@dataclass(frozen=True)
class SearchSetting:
    """Everything that decides what a search finds. Where it runs, and on how many workers, is not part of it."""

    setting: Setting
    by: Criterion
    algorithm: str = "random"
    samples: int = 500
    limits: Limits = Limits()

    def as_json(self) -> dict[str, Any]:
        return {
            "space": self.setting.space_name,
            "skeleton": str(self.setting.skeleton),
            "proxy": str(self.by),
            "algorithm": str(AlgorithmRequest.parse(self.algorithm)),
            "samples": self.samples,
            **asdict(self.limits),
            "input": self.setting.inputs.fingerprint,
            "seed": self.setting.seed,
            **({"repeats": self.setting.repeats} if self.setting.repeats > 1 else {}),
        }


@dataclass(frozen=True)
class SearchResult:
    """The chosen network and what finding it took. `scored` were computed now, `reused` were known from before.

    Searched by an ensemble, the network has a score by it among those of the members.
    """

    setting: SearchSetting
    best: NetworkScore
    scored: int
    reused: int
    seconds: float
    directory: Path | None = None

    @property
    def score(self) -> Score:
        return self.best.scores[str(self.setting.by)]

    def build(self, *, device: str | None = None) -> nn.Module:
        """The chosen network, with the very weights it was scored with."""
        setting = self.setting.setting
        return setting.space.build(self.best.architecture, setting.skeleton, seed=setting.seed, device=device)

    def as_json(self) -> dict[str, Any]:
        directory = None if self.directory is None else str(self.directory)
        summary = {"best": self.best.as_json(), "scored": self.scored, "reused": self.reused, "seconds": self.seconds}
        return summary | {"directory": directory}


def run_search(
    search: SearchSetting,
    executor: Executor,
    directory: Path | None = None,
    watch: Callable[[Candidate], None] = lambda candidate: None,
) -> SearchResult:
    """Run or resume the search. With a `directory`, every score is kept there and the result is written to it."""
    algorithm = AlgorithmRequest.parse(search.algorithm)
    if not isinstance(search.samples, int) or search.samples < 1:
        raise SettingError(f"A search must score at least one network; samples is {search.samples!r}.")
    with open_store(directory) as store:
        run = _begin(store, search, directory)
        start = time.perf_counter()
        earlier = max((trial.elapsed for trial in store.trials(run)), default=0.0)
        reused = 0

        def record(candidate: Candidate) -> None:
            nonlocal reused
            reused += candidate.network.reused
            elapsed = earlier + time.perf_counter() - start
            cost = candidate.network.cost
            assert cost is not None  # a space knows it without running anything
            store.add_trial(run, Trial(candidate.network.architecture, cost, candidate.utility, elapsed))
            watch(candidate)

        setting = search.setting
        problem = Problem(
            ScoreService(setting, members(search.by), executor, store),
            Objective(search.by, search.limits),
            python_generator(setting.seed, "search", search.algorithm),
            search.samples,
            record,
        )
        try:
            algorithm.run(problem)
        finally:  # an ensemble judges when all are known, or as many as there are when a run is cut off
            store.set_utilities(run, {known.network.architecture: known.utility for known in problem.ranked()})
        best = _chosen(problem)
        result = SearchResult(search, best, problem.scored - reused, reused, time.perf_counter() - start, directory)
        store.finish_run(run, result.as_json())
    if directory is not None:
        content = {"settings": search.as_json(), "version": __version__, **result.as_json()}
        (directory / RESULT_NAME).write_text(json.dumps(content, indent=2) + "\n")
    return result


def _begin(store: Store, search: SearchSetting, directory: Path | None) -> Run:
    settings = search.as_json()
    for run in store.runs():
        differences = [
            f"{name} was {run.settings.get(name)!r}, now {settings.get(name)!r}"
            for name in sorted(run.settings.keys() | settings.keys())
            if run.settings.get(name) != settings.get(name)
        ]
        if differences:
            raise StoreError(
                f"The folder {directory} holds another run: {'; '.join(differences)}. "
                "Name another folder with --out, or use the earlier settings to resume that run."
            )
    return store.begin_run(settings, __version__, search.setting.seed)


def _chosen(problem: Problem) -> NetworkScore:
    by, ranked = problem.objective.by, problem.ranked()
    if not ranked:
        raise FirstlightError("The search ended without scoring a single network.")
    best = ranked[0]
    if best.utility is None:
        score = best.network.scores[str(members(by)[0])]
        raise FirstlightError(
            f"None of the {problem.scored} networks could be scored. "
            f"One of them, {best.network.architecture}, ended with {score.status}: {score.note}"
        )
    if not isinstance(by, Ensemble):
        return best.network
    shares = by.shares([candidate.network for candidate in ranked])[0]
    parts = {str(request): share for request, share in zip(by.requests, shares, strict=True)}
    score = Score(best.utility, parts, note=f"ranks among {len(ranked)} networks as shares, 1 is best")
    return replace(best.network, scores={str(by): score, **best.network.scores})
