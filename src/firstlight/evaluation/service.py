"""Accuracies of architectures: looked up in the store, or else found by training the network and stored."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from firstlight.execution.executor import Executor, Lost
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationJob, EvaluationSetting


@dataclass(frozen=True)
class Evaluation:
    """How well one network did; `reused` if the store knew it."""

    architecture: str
    result: TrainingResult
    reused: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the architecture and all facts of the result."""
        return {"architecture": self.architecture, **self.result.to_dict()}


class EvaluationService:
    """Answers from the store what it can, has the executor train the rest, and commits each result as it arrives."""

    def __init__(self, setting: EvaluationSetting, executor: Executor, store: Store) -> None:
        self.setting = setting
        self.executor = executor
        self.store = store

    def evaluations(self, architectures: Iterable[str]) -> Iterator[Evaluation]:
        """Yield one answer for each different architecture: first those that are known, then others as they arrive."""
        missing = []
        for text in dict.fromkeys(architectures):
            known = self.store.find_evaluation(self.setting.key(text))
            if known is None:
                missing.append(text)
            else:
                yield Evaluation(text, known, reused=True)
        checkpoints = None if self.store.folder is None else self.store.folder / "checkpoints"
        if checkpoints is not None and missing:
            checkpoints.mkdir(exist_ok=True)
        job = EvaluationJob(self.setting, self.setting.dataset.fingerprint, checkpoints)
        for text, result in self.executor.map(job, missing):
            if isinstance(result, Lost):
                result = TrainingResult((), result.status, result.reason)
            self.store.add_evaluation(self.setting.key(text), result)
            yield Evaluation(text, result)
        if checkpoints is not None:
            with contextlib.suppress(OSError):  # it may never have been there, or others still need it
                checkpoints.rmdir()
