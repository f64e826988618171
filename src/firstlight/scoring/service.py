"""From architectures to scores: look them up in the store, or compute and store them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import shutil
import tempfile
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.data import Inputs, InputSource, load_inputs
from firstlight.data.sources import data_kind
from firstlight.execution.executor import Executor, Lost
from firstlight.probe import Probe
from firstlight.probe.cost import Cost
from firstlight.proxies.base import NetworkScore, Proxy, Score
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.scoring.repeats import combine, draw_seeds
from firstlight.spaces.base import Skeleton, Space
from firstlight.spaces.checks import check_device, check_seed, skeleton_for
from firstlight.spaces.in_space import InSpace, Surroundings, in_space
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import Store
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import FOLDER, LearnedFrom, WarmUp


def source_for(
    requests: Iterable[ProxyRequest],
    name: str = "synthetic",
    batch_size: int | None = None,
    batches: int | None = None,
    labels: str = "true",
) -> InputSource:
    """Return a source with the largest batch size and number of batches that any of the proxies needs.

    A given `batch_size` or number of `batches` takes precedence. Some kinds of data have larger
    default batches (`DataKind.batch_size`). A default batch shrinks if the data has fewer samples.
    """
    requests = list(requests)
    size = max((max(request.proxy.batch_size, request.samples) for request in requests), default=1)
    kind = data_kind(name)
    if size > 1 and kind is not None:
        size = max(size, kind.batch_size)
    count = max((request.num_batches for request in requests), default=1)
    count = count if batches is None else batches
    if batch_size is None:
        return InputSource(name, size, count, labels).fitting()
    return InputSource(name, batch_size, count, labels)


def read_by(request: ProxyRequest, source: InputSource) -> InputSource:
    """Return the part of the source that a proxy reads, so that its score does not depend on the other proxies."""
    size = source.batch_size if request.proxy.batch_size > 1 else min(request.samples, source.batch_size)
    return replace(source, batch_size=size, batches=min(request.num_batches, source.batches))


@dataclass(frozen=True)
class Setting(InSpace):
    """What all scores of a run have in common.

    With a `warm_up`, networks are trained briefly before they are scored, on data other than what proxies are shown.
    """

    source: InputSource = InputSource()
    seed: int = 0
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None
    repeats: int = 1
    initialization: str = "default"
    warm_up: WarmUp | SharedWarmUp | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        draw_seeds(0, self.repeats)
        check_seed(self.seed)
        check_device(self.device)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the data of the warm-up: each worker process loads its own copy."""
        return {name: value for name, value in super().__getstate__().items() if name != "learned_from"}

    def load(self) -> None:
        for setting in (self, *self.draws):
            setting.check()

    def check(self) -> None:
        """Check data, skeleton and warm-up before any work starts."""
        self.skeleton  # noqa: B018 - it depends on the data, which are read
        self.described  # noqa: B018 - and this on those to learn from

    @functools.cached_property
    def learned_from(self) -> LearnedFrom:
        """The data of the warm-up, drawn by the seed."""
        assert self.warm_up is not None
        return self.warm_up.load(self.source, self.seed)

    @functools.cached_property
    def inputs(self) -> Inputs:
        asked = self.space.skeleton(**dict(self.skeleton_settings))
        return load_inputs(self.source, seed=self.seed, input_shape=asked.input_shape, classes=asked.classes)

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        asked, inputs = dict(self.skeleton_settings), self.inputs
        name = self.source.name
        return skeleton_for(self.space, asked, name, inputs.input_shape, inputs.classes, inputs.skeleton)

    @functools.cached_property
    def draws(self) -> list[Setting]:
        """One setting for each repeat."""
        seeds = draw_seeds(self.seed, self.repeats)
        return [self] if self.repeats == 1 else [replace(self, seed=seed, repeats=1) for seed in seeds]

    @functools.cached_property
    def described(self) -> str:
        """The skeleton, the initialization unless it is the default, and the warm-up if there is one."""
        drawn = "" if self.initialization == "default" else f",initialisation={self.initialization}"
        warmed = "" if self.warm_up is None else f",warmup={self.warm_up} on {self.learned_from.fingerprint}"
        return f"{self.skeleton}{drawn}{warmed}"

    def build(self, architecture: str) -> nn.Module:
        return self.space.build(
            architecture, self.skeleton, seed=self.seed, device=self.device, initialization=self.initialization
        )

    def network(self, architecture: str, kept_in: Path | None = None) -> nn.Module:
        """Return a network ready to be scored: built, and warmed up if asked for.

        Warmed-up weights are read from and written to the folder `kept_in`.

        Raises:
            DivergedError: If the loss of the warm-up is not finite.
        """
        if self.warm_up is None:
            return self.build(architecture)
        return self.warm_up.network(self, architecture, kept_in)

    def key(self, architecture: str, request: ProxyRequest) -> ScoreKey:
        return ScoreKey(
            space=self.space_key,
            skeleton=self.described,
            architecture=architecture,
            proxy=str(request),
            revision=request.proxy.revision,
            input=self._fingerprint(request) + (f":{self.repeats} repeats" if self.repeats > 1 else ""),
            seed=self.seed,
        )

    def _fingerprint(self, request: ProxyRequest) -> str:
        source = read_by(request, self.source)
        if source not in self._fingerprints:
            self._fingerprints[source] = replace(self, source=source).inputs.fingerprint
        return self._fingerprints[source]

    @functools.cached_property
    def _fingerprints(self) -> dict[InputSource, str]:
        return {self.source: self.inputs.fingerprint}


def make_setting(
    space: str | Space[Any],
    source: InputSource,
    skeleton: Mapping[str, Any] | None,
    seed: int,
    device: str | None,
    repeats: int,
    warm_up: WarmUp | SharedWarmUp | None = None,
) -> Setting:
    """Return the setting for the arguments of a public call."""
    if skeleton is not None and not isinstance(skeleton, Mapping):
        raise SettingError(f'skeleton is {skeleton!r}; write a dictionary such as {{"channels": 8, "cells": 2}}.')
    return Setting(
        **in_space(space),
        source=source,
        seed=seed,
        skeleton_settings=tuple(sorted((skeleton or {}).items())),
        device=device,
        repeats=repeats,
        warm_up=warm_up,
    )


def count(setting: Surroundings, architecture: str) -> Cost | Score:
    """Return the cost of a network, or a score without a value that says why it cannot be built or run."""
    space, skeleton = setting.space, setting.skeleton
    try:
        return space.cost(space.parse(architecture), skeleton)
    except SettingError:  # it concerns all networks
        raise
    except Exception as error:  # the user's own space may raise anything
        return Score.of_error(error)


def with_cost(
    setting: Surroundings, architecture: str, scores: Mapping[str, Score], reused: bool = False
) -> NetworkScore:
    """Return scores together with the cost. A network whose cost cannot be counted has failed."""
    cost = count(setting, architecture)
    if isinstance(cost, Score):
        scores = {name: cost if score.ok else score for name, score in scores.items()}
    return NetworkScore(architecture, dict(scores), None if isinstance(cost, Score) else cost, reused)


Task = tuple[str, tuple[str, ...]]  # an architecture's text, and the proxies to ask about it


@dataclass(frozen=True)
class ScoreJob:
    """The job that executors run: build a network, probe it, and compute its scores.

    A network that fails affects only its own scores. `requests` are all proxies that tasks may name. Warmed-up weights
    are kept in the folder `kept_in`.
    """

    setting: Setting
    requests: tuple[ProxyRequest, ...]
    kept_in: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Files that every machine needs: shared weights, which are trained beforehand."""
        shared = isinstance(self.setting.warm_up, SharedWarmUp) and self.setting.warm_up.share
        return [self.kept_in] if shared and self.kept_in is not None else []

    def __call__(self, task: Task) -> NetworkScore:
        text, names = task
        cost = count(self.setting, text)
        if isinstance(cost, Score):
            return NetworkScore(text, dict.fromkeys(names, cost), None)
        asked = [request for request in self.requests if str(request) in names]
        draws = [self._draw(setting, text, asked, cost) for setting in self.setting.draws]
        return NetworkScore(text, {name: combine([draw[name] for draw in draws]) for name in names}, cost)

    def _draw(self, setting: Setting, text: str, requests: Collection[ProxyRequest], cost: Cost) -> dict[str, Score]:
        start = time.perf_counter()
        try:
            network = setting.network(text, self.kept_in)
            probe = Probe(network, setting.inputs.batches, seed=setting.seed, cost=cost)
        except Exception as error:
            return {str(request): Score.of_error(error) for request in requests}
        prepared = 0.0 if setting.warm_up is None else time.perf_counter() - start
        found = measure_all(requests, probe)
        first = next(iter(found))  # the first proxy is charged for shared work
        return found | {first: replace(found[first], seconds=found[first].seconds + prepared)}


class ScoreService:
    """Answers from the store where it can, has the executor compute the rest, and stores each score as it arrives."""

    def __init__(
        self,
        setting: Setting,
        requests: Iterable[ProxyRequest],
        executor: Executor,
        store: Store,
        callback: Callback = ignore,
    ) -> None:
        self.setting = setting
        self._callback = callback
        self._temporary: Path | None = None
        self.requests = {str(request): request for request in requests}
        self.executor = executor
        self.store = store

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        """Yield the scores of each distinct architecture as they become known, in any order."""
        known: dict[str, dict[str, Score]] = {}
        answered: list[NetworkScore] = []
        looked_up = ((text, self._stored(text)) for text in _without_repeats(architectures))
        first_missing = []
        for text, found in looked_up:  # stored scores come at once
            if len(found) < len(self.requests):
                first_missing.append((text, found))
                break
            yield with_cost(self.setting, text, found, reused=True)

        def unanswered() -> Iterator[Task]:
            for text, found in itertools.chain(first_missing, looked_up):
                missing = tuple(name for name in self.requests if name not in found)
                if missing:
                    known[text] = found
                    yield text, missing
                else:
                    answered.append(with_cost(self.setting, text, found, reused=True))

        kept_in = self._kept_in()
        if self.setting.warm_up is not None and first_missing:
            self.setting.warm_up.prepare(self.setting, kept_in, self._callback)
        job = ScoreJob(self.setting, tuple(self.requests.values()), kept_in)
        for (text, missing), result in self.executor.map(job, unanswered()):
            yield from _drain(answered)
            if isinstance(result, Lost):
                failed = {name: Score.without_value(result.status, result.reason) for name in missing}
                # a user's own network that crashed a worker would crash this process too
                own = self.setting.own_space is not None
                result = NetworkScore(text, failed, None) if own else with_cost(self.setting, text, failed)
            for name, score in result.scores.items():
                self.store.add_score(self.setting.key(text, self.requests[name]), score)
            scores = known.pop(text) | result.scores
            yield NetworkScore(text, {name: scores[name] for name in self.requests}, result.cost)
        yield from _drain(answered)

    def _kept_in(self) -> Path | None:
        """Return the folder of warmed-up weights: beside the store, or a temporary one for shared weights."""
        if self.setting.warm_up is None:
            return None
        if self.store.folder is not None:
            return self.store.folder / FOLDER
        if self._temporary is None and isinstance(self.setting.warm_up, SharedWarmUp):
            self._temporary = Path(tempfile.mkdtemp(prefix="firstlight-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary

    def _stored(self, text: str) -> dict[str, Score]:
        found = {}
        for name, request in self.requests.items():
            score = self._look_up(self.setting.key(text, request), request.proxy)
            if score is not None:  # the store does not keep the direction, which belongs to the proxy
                found[name] = dataclasses.replace(score, higher_is_better=request.proxy.higher_is_better)
        return found

    def _look_up(self, key: ScoreKey, proxy: Proxy) -> Score | None:
        """Return the stored score, or that of an earlier revision if it has a value that is still right."""
        score = self.store.find_score(key)
        for revision in range(proxy.values_since or proxy.revision, proxy.revision) if score is None else ():
            earlier = self.store.find_score(replace(key, revision=revision))
            if earlier is not None and earlier.ok:
                return earlier
        return score


def _without_repeats(texts: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _drain(waiting: list[NetworkScore]) -> Iterator[NetworkScore]:
    while waiting:
        yield waiting.pop(0)
