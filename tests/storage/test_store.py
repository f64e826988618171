"""The store keeps what it is given, and says so when it cannot."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from firstlight.core.errors import StoreError
from firstlight.probe.cost import Cost
from firstlight.proxies.base import Score
from firstlight.storage.environment import Environment, this_environment
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.records import EvaluationKey, ScoreKey, Trial
from firstlight.storage.store import Store, open_store

KEY = ScoreKey("space", "channels=4", "|arch|", "dextr", 1, "noise", 0)
SCORE = Score(0.1 + 0.2, {"part": -math.pi}, "ok", "a note", 0.5)
TRAINED = EvaluationKey("space", "channels=4", "|arch|", "digits:3+1:ab", "epochs=2", 0, 1)
RESULT = TrainingResult((Epoch(0.1 + 0.2, 0.5, math.pi, 2 / 3, 0.25), Epoch(0.1, 0.6, 3.0, 0.7, 0.5)), "ok", "", 0.75)


def test_scores_come_back_bit_for_bit_after_a_restart(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        store.add_score(KEY, SCORE)
    with Store(tmp_path / "store.sqlite") as store:
        assert store.find_score(KEY) == SCORE


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(ScoreKey)])
def test_every_part_of_the_key_counts(name: str) -> None:
    value = getattr(KEY, name)
    other = dataclasses.replace(KEY, **{name: value + 1 if isinstance(value, int) else value + "x"})
    store = Store(":memory:")
    store.add_score(KEY, SCORE)
    assert store.find_score(other) is None


@pytest.mark.parametrize(
    ("status", "found"), [("non_finite", True), ("unsupported", True), ("failed", False), ("out_of_memory", False)]
)
def test_what_may_pass_is_asked_again(status: str, found: bool) -> None:
    store = Store(":memory:")
    store.add_score(KEY, Score.without_value(status, "why"))  # type: ignore[arg-type]
    answer = store.find_score(KEY)
    assert (answer is not None) == found
    if answer is not None:
        assert (answer.status, answer.note, math.isnan(answer.value)) == (status, "why", True)
    store.add_score(KEY, SCORE)
    assert store.find_score(KEY) == SCORE


def test_evaluations_come_back_bit_for_bit_after_a_restart(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        store.add_evaluation(TRAINED, RESULT)
    with Store(tmp_path / "store.sqlite") as store:
        found = store.find_evaluation(TRAINED)
    assert found == RESULT
    assert found is not None
    assert (found.seconds, [epoch.seconds for epoch in found.epochs]) == (0.75, [0.25, 0.5])


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(EvaluationKey)])
def test_every_part_of_the_key_of_an_evaluation_counts(name: str) -> None:
    value = getattr(TRAINED, name)
    other = dataclasses.replace(TRAINED, **{name: value + 1 if isinstance(value, int) else value + "x"})
    store = Store(":memory:")
    store.add_evaluation(TRAINED, RESULT)
    assert store.find_evaluation(other) is None


@pytest.mark.parametrize(("status", "found"), [("diverged", True), ("failed", False), ("out_of_memory", False)])
def test_a_training_that_may_go_better_is_asked_again(status: str, found: bool) -> None:
    store = Store(":memory:")
    result = dataclasses.replace(RESULT, status=status, note="why")
    store.add_evaluation(TRAINED, result)
    assert store.find_evaluation(TRAINED) == (result if found else None)
    store.add_evaluation(TRAINED, RESULT)
    assert store.find_evaluation(TRAINED) == RESULT


def test_trainings_of_a_space_are_found_by_its_name_alone() -> None:
    """A space of one's own has a fingerprint behind the name; `_` is a letter like any other."""
    with Store(":memory:") as store:
        for space in ("my_space", "my_space@1f", "my-space@1f", "my_spaces@1f", "myxspace@1f"):
            store.add_evaluation(dataclasses.replace(TRAINED, space=space, architecture=space), RESULT)
        assert [name for name, *_ in store.accuracies("my_space")] == ["my_space", "my_space@1f"]
        assert store.count_evaluations() == 5


def test_runs_and_trials(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        run = store.begin_run({"space": "s", "seed": 1}, "0.1.0", 1)
        assert store.begin_run({"seed": 1, "space": "s"}, "0.1.0", 1).id == run.id
        first, second = Trial("a", Cost(1, 2), 0.5, 1.0), Trial("b", Cost(3, 4), None, 0.5)
        for trial in (first, second, dataclasses.replace(second, elapsed=9.0, utility=0.75)):
            store.add_trial(run, trial)
        assert store.trials(run) == [dataclasses.replace(second, utility=0.75), first]  # scored the second time
        store.finish_run(run, {"best": "a"})
        (finished,) = store.runs()
        assert finished.result == {"best": "a"}
        assert finished.finished is not None
        with pytest.raises(StoreError, match="no run 7"):
            store.run(7)


def test_several_threads_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    def use(number: int) -> bool:
        with Store(tmp_path / "store.sqlite") as store:
            store.add_score(dataclasses.replace(KEY, seed=number), SCORE)
            return store.begin_run({"a": 1}, "0", 0).id == 1

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(40)))
    with Store(tmp_path / "store.sqlite") as store:
        assert len(store.runs()) == 1
        assert all(store.find_score(dataclasses.replace(KEY, seed=number)) == SCORE for number in range(40))


def fail_in(directory: Path, *, after_a_score: bool = False) -> None:
    def run() -> None:
        with open_store(directory) as store:
            store.begin_run({}, "1", 0)
            if after_a_score:
                store.add_score(KEY, Score(1.0))
            raise RuntimeError("too tight")

    with pytest.raises(RuntimeError, match="too tight"):
        run()


def test_what_fails_before_its_first_result_leaves_nothing_behind(tmp_path: Path) -> None:
    fail_in(tmp_path / "runs" / "mine")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes.txt").touch()
    fail_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_fails_later_keeps_its_results_and_what_was_there_before(tmp_path: Path) -> None:
    fail_in(tmp_path / "scored", after_a_score=True)
    with open_store(tmp_path / "begun") as store:
        store.begin_run({}, "1", 0)
    fail_in(tmp_path / "begun")
    assert {path.parent.name for path in tmp_path.glob("*/*")} == {"scored", "begun"}


def test_a_store_that_somebody_else_has_open_is_not_removed(tmp_path: Path) -> None:
    directory = tmp_path / "shared"
    with contextlib.ExitStack() as others:
        with contextlib.suppress(RuntimeError), open_store(directory):
            other = others.enter_context(open_store(directory))
            raise RuntimeError
        other.add_score(KEY, SCORE)
    with Store(directory / "store.sqlite") as store:
        assert store.find_score(KEY) == SCORE


def test_a_shared_file_and_the_folder_of_a_run(tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "shared" / "all.sqlite"
    with pytest.raises(RuntimeError), open_store(folder, file):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with open_store(folder, file) as store:
        store.add_score(KEY, SCORE)
        assert (store.folder, list(folder.iterdir())) == (file.parent, [])
    with open_store(None, file) as store:
        assert store.find_score(KEY) == SCORE


OTHERS = {
    "another torch": (dataclasses.replace(this_environment(), torch="1.9.0"), True),
    "another processor": (dataclasses.replace(this_environment(), cpu="vax"), True),
    "another patch of torch": (dataclasses.replace(this_environment(), torch=torch.__version__ + ".post7"), False),
    "another python": (dataclasses.replace(this_environment(), python="2.7", firstlight="0.0.1"), False),
}


@pytest.mark.parametrize(("other", "differs"), OTHERS.values(), ids=OTHERS)
def test_results_of_another_environment_are_told_or_computed_again(
    other: Environment, differs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("firstlight.storage.store.this_environment", lambda: other)
        with Store(path) as store:
            store.add_score(KEY, SCORE)
            store.add_evaluation(TRAINED, RESULT)
            assert (store.find_score(KEY), store.remarks()) == (SCORE, [])
    with Store(path) as store:
        assert (store.find_score(KEY), store.find_evaluation(TRAINED)) == (SCORE, RESULT)
        said = store.remarks()
        assert len(said) == differs
        assert all(f"2 reused results were computed by {other}" in remark for remark in said)
    with Store(path, same_versions=True) as store:
        assert (store.find_score(KEY) is None, store.find_evaluation(TRAINED) is None) == (differs, differs)
        store.add_score(KEY, SCORE)
    with Store(path, same_versions=True) as store:
        assert (store.find_score(KEY), store.remarks()) == (SCORE, [])
