"""From architecture to accuracy: the same everywhere, each network trained once, failures kept to themselves."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstlight.core.errors import DataError, ParseError, SettingError
from firstlight.data import load_dataset
from firstlight.evaluation.service import Evaluation, EvaluationService
from firstlight.execution.executor import Executor, InProcess, Lost, make_executor
from firstlight.spaces import SPACES
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store
from firstlight.training.checkpoint import Checkpoint
from firstlight.training.job import EvaluationJob, EvaluationSetting
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


def test_recipes_that_ask_more_of_a_network() -> None:
    skeleton = (("cells", 3), ("channels", 2))
    recipe = TrainingRecipe(epochs=2, batch_size=8, drop_path=0.5, auxiliary_weight=0.4, validation=0.5)
    setting = EvaluationSetting("darts", "digits@32", recipe, skeleton_settings=skeleton, samples=16)
    assert len(setting.dataset.x_val) == 8
    text = str(SPACES["darts"].example())
    found = [
        evaluations(InProcess(), [text], setting=replace(setting, recipe=changed))[text].result
        for changed in (recipe, replace(recipe, drop_path=0), replace(recipe, auxiliary_weight=0))
    ]
    assert all(result.ok for result in found)
    assert len({result.epochs[-1].train_loss for result in found}) == 3


def test_what_an_accuracy_depends_on_is_in_its_key() -> None:
    (text,) = architectures(1)
    settings = [
        SMALL,
        replace(SMALL, seed=1),
        replace(SMALL, samples=80),
        replace(SMALL, source_name="digits@12"),
        replace(SMALL, recipe=TrainingRecipe(epochs=1, batch_size=8)),
        replace(SMALL, skeleton_settings=(("cells", 1), ("channels", 3))),
    ]
    assert len({setting.key(text) for setting in settings}) == len(settings)
    results = [evaluations(InProcess(), [text], setting=setting)[text].result for setting in settings]
    assert len({result.epochs[0].val_loss for result in results}) == len(settings)


def test_workers_load_the_data_themselves() -> None:
    assert SMALL.dataset.classes == 10
    travelled = pickle.loads(pickle.dumps(SMALL))
    assert travelled == SMALL
    assert "dataset" not in vars(travelled)
    assert len(pickle.dumps(SMALL)) < 2_000


def test_data_that_changes_under_way_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(20, 8, 8)), y=np.arange(20) % 2)
    setting = replace(SMALL, source_name=f"npz:{path}", samples=None)
    job = EvaluationJob(replace(setting), setting.dataset.fingerprint)
    np.savez(path, x=np.random.default_rng(1).normal(size=(20, 8, 8)), y=np.arange(20) % 2)
    with pytest.raises(DataError, match="has changed since the run began"):
        job(architectures(1)[0])


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


def test_the_data_decides_the_shape() -> None:
    skeleton = SMALL.skeleton
    assert (skeleton.input_shape, skeleton.classes) == ((3, 8, 8), 10)
    assert SMALL.dataset.fingerprint == load_dataset("digits@8", samples=60).fingerprint


def test_settings_that_cannot_be() -> None:
    with pytest.raises(SettingError, match="64 bits"):
        replace(SMALL, seed=2**63)
    with pytest.raises(SettingError, match="device 'abacus'"):
        replace(SMALL, device="abacus")
    with pytest.raises(SettingError, match=r"\(3, 8, 8\); the skeleton asks for \(1, 8, 8\)"):
        _ = replace(SMALL, skeleton_settings=(("input_shape", (1, 8, 8)),)).skeleton
    with pytest.raises(ParseError):
        evaluations(InProcess(), ["|no_such_op~0|"])
