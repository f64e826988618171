"""From architecture to accuracy: the same everywhere, each network trained once, failures kept to themselves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from firstlight.evaluation.service import Evaluation, EvaluationService
from firstlight.execution.executor import Executor, InProcess, Lost, make_executor
from firstlight.spaces import SPACES
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe

SMALL = EvaluationSetting(
    "nasbench201",
    "digits@8",
    TrainingRecipe(epochs=1, batch_size=16),
    skeleton_settings=(("cells", 1), ("channels", 2)),
    samples=60,
)


def architectures(count: int) -> list[str]:
    rng = random.Random(0)
    return list(dict.fromkeys(str(SPACES["nasbench201"].sample(rng)) for _ in range(2 * count)))[:count]


def evaluations(
    executor: Executor, texts: list[str], store: Store | None = None, setting: EvaluationSetting = SMALL
) -> dict[str, Evaluation]:
    service = EvaluationService(setting, executor, store or Store(":memory:"))
    return {evaluation.architecture: evaluation for evaluation in service.evaluations(texts)}


class Counting:
    """An executor that notes what it was asked to train."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def map(self, job: Any, items: Any) -> Iterator[Any]:
        for item, result in InProcess().map(job, items):
            self.tasks.append(item)
            yield item, result


def test_the_same_numbers_in_process_and_on_workers() -> None:
    texts = architectures(4)
    first, *others = (evaluations(make_executor(workers), texts) for workers in (0, 1, 2))
    assert sorted(first) == sorted(texts)
    assert all(evaluation.result.ok for evaluation in first.values())
    assert all(other == first for other in others)


def test_a_run_that_was_cut_off_trains_only_what_is_missing(tmp_path: Path) -> None:
    texts, executor = architectures(4), Counting()
    with Store(tmp_path / "store.sqlite") as store:
        under_way = EvaluationService(SMALL, executor, store).evaluations(texts)
        cut_off = [next(under_way) for _ in range(2)]
    with Store(tmp_path / "store.sqlite") as store:
        resumed = list(EvaluationService(SMALL, executor, store).evaluations([*texts, *texts]))
    assert executor.tasks == texts
    assert [(found.architecture, found.reused) for found in resumed] == [
        *((text, True) for text in texts[:2]),
        *((text, False) for text in texts[2:]),
    ]
    assert [found.result for found in resumed[:2]] == [found.result for found in cut_off]


def test_a_training_that_was_cut_off_goes_on_behind_its_last_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = replace(SMALL, recipe=replace(SMALL.recipe, epochs=3))
    texts, folder = architectures(1), tmp_path / "checkpoints"
    expected = evaluations(InProcess(), texts, setting=setting)
    with Store(tmp_path / "store.sqlite") as store, monkeypatch.context() as cutting:
        save = Checkpoint.save

        def save_and_cut(self: Checkpoint, *args: Any) -> None:
            save(self, *args)
            raise KeyboardInterrupt

        cutting.setattr(Checkpoint, "save", save_and_cut)
        with pytest.raises(KeyboardInterrupt):
            evaluations(InProcess(), texts, store, setting)
    (kept,) = folder.iterdir()
    known = Checkpoint(kept, asdict(setting.key(texts[0]))).epochs()
    assert known == list(expected[texts[0]].result.epochs[:1])
    with Store(tmp_path / "store.sqlite") as store:
        resumed = evaluations(InProcess(), texts, store, setting)
    assert resumed == expected
    assert resumed[texts[0]].result.epochs[0].seconds == known[0].seconds  # not trained again
    assert not folder.exists()


def test_a_network_that_fails_has_a_status_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no such layer")

    store, (text,) = Store(":memory:"), architectures(1)
    with monkeypatch.context() as broken:
        broken.setattr(type(SMALL.space), "build", fail)
        result = evaluations(InProcess(), [text], store)[text].result
    assert (result.status, result.note, result.accuracy) == ("failed", "RuntimeError: no such layer", None)
    assert evaluations(InProcess(), [text], store)[text].result.ok


def test_a_lost_worker_costs_its_own_network_only() -> None:
    class LosingTheFirst:
        def map(self, job: Any, items: Any) -> Iterator[Any]:
            for number, (item, result) in enumerate(InProcess().map(job, items)):
                yield item, result if number else Lost("gone")

    store, texts, executor = Store(":memory:"), architectures(3), Counting()
    first, *others = evaluations(LosingTheFirst(), texts, store).values()
    assert first.result == TrainingResult((), "failed", "gone")
    assert all(other.result.ok for other in others)
    assert all(evaluation.result.ok for evaluation in evaluations(executor, texts, store).values())
    assert executor.tasks == texts[:1]


def test_a_training_that_diverged_is_not_repeated() -> None:
    setting = replace(SMALL, recipe=replace(SMALL.recipe, learning_rate=1e30))
    store, texts, executor = Store(":memory:"), architectures(1), Counting()
    for _ in range(2):
        (found,) = evaluations(executor, texts, store, setting).values()
        assert found.result.status == "diverged"
        assert found.to_dict()["accuracy"] is None
    assert executor.tasks == texts
