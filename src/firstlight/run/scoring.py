"""From an architecture's text to its scores: look them up, else have them computed, and remember them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from firstlight.data import Inputs, InputSource, load_inputs
from firstlight.probe import Probe
from firstlight.probe.cost import Cost
from firstlight.proxies import ProxyRequest, Score
from firstlight.run.executor import Executor, Lost
from firstlight.run.store import ScoreKey, Store
from firstlight.spaces import SPACES, Skeleton, Space


@dataclass(frozen=True)
class NetworkScore:
    """What is known of one network: its scores by the text of the request, and its cost."""

    architecture: str
    scores: dict[str, Score]
    cost: Cost
    reused: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "scores": {name: score.as_json() for name, score in self.scores.items()},
            "cost": {"params": self.cost.params, "macs": self.cost.macs},
        }


@dataclass(frozen=True)
class Setting:
    """What all scores of a run have in common."""

    space_name: str
    source: InputSource = InputSource()
    seed: int = 0
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None

    @functools.cached_property
    def space(self) -> Space[Any]:
        return SPACES[self.space_name]

    @functools.cached_property
    def inputs(self) -> Inputs:
        asked = self.space.skeleton(**dict(self.skeleton_settings))
        return load_inputs(self.source, seed=self.seed, input_shape=asked.input_shape, classes=asked.classes)

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        """The data's own shape and number of classes, unless the user asks for others."""
        data = {"input_shape": self.inputs.input_shape, "classes": self.inputs.classes}
        return self.space.skeleton(**(data | dict(self.skeleton_settings)))

    def cost(self, architecture: str) -> Cost:
        return self.space.cost(self.space.parse(architecture), self.skeleton)

    def key(self, architecture: str, request: ProxyRequest) -> ScoreKey:
        return ScoreKey(
            space=self.space_name,
            skeleton=str(self.skeleton),
            architecture=architecture,
            proxy=str(request),
            revision=request.proxy.revision,
            input=self.inputs.fingerprint,
            seed=self.seed,
        )


Task = tuple[str, tuple[str, ...]]  # an architecture's text, and the proxies to ask about it


@dataclass(frozen=True)
class ScoreJob:
    """Build, probe, ask: the job that executors run. A network that fails costs only its own scores."""

    setting: Setting

    def __call__(self, task: Task) -> NetworkScore:
        text, requests = task
        setting = self.setting
        cost = setting.cost(text)
        try:
            network = setting.space.build(text, setting.skeleton, seed=setting.seed, device=setting.device)
            probe = Probe(network, setting.inputs.batches, seed=setting.seed, cost=cost)
            scores = {request: ProxyRequest.parse(request).measure(probe) for request in requests}
        except Exception as error:
            note = f"{type(error).__name__}: {error}"
            scores = {request: Score.without_value("failed", note) for request in requests}
        return NetworkScore(text, scores, cost)


class ScoreService:
    """Answers from the store what it can, lets the executor compute the rest, and commits each score as it arrives."""

    def __init__(self, setting: Setting, requests: Iterable[ProxyRequest], executor: Executor, store: Store) -> None:
        self.setting = setting
        self.requests = {str(request): request for request in requests}
        self.executor = executor
        self.store = store

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        """One answer for each of these different architectures, as they become known; in any order."""
        known: dict[str, dict[str, Score]] = {}
        answered: list[NetworkScore] = []

        def unanswered() -> Iterator[Task]:
            for text in architectures:
                found = {
                    name: score
                    for name, request in self.requests.items()
                    if (score := self.store.find_score(self.setting.key(text, request))) is not None
                }
                missing = tuple(name for name in self.requests if name not in found)
                if missing:
                    known[text] = found
                    yield text, missing
                else:
                    answered.append(NetworkScore(text, found, self.setting.cost(text), reused=True))

        for (text, missing), result in self.executor.map(ScoreJob(self.setting), unanswered()):
            yield from _drain(answered)
            if isinstance(result, Lost):
                failed = {name: Score.without_value("failed", result.reason) for name in missing}
                result = NetworkScore(text, failed, self.setting.cost(text))
            for name, score in result.scores.items():
                self.store.add_score(self.setting.key(text, self.requests[name]), score)
            scores = known.pop(text) | result.scores
            yield NetworkScore(text, {name: scores[name] for name in self.requests}, result.cost)
        yield from _drain(answered)


def _drain(waiting: list[NetworkScore]) -> Iterator[NetworkScore]:
    while waiting:
        yield waiting.pop(0)
