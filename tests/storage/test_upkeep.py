"""A store is checked without being changed, and made smaller without losing anything."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.storage.test_database import make_older
from tests.storage.test_store import KEY, RESULT, SCORE, TRAINED

from firstlight.core.errors import StoreError
from firstlight.probe.cost import Cost
from firstlight.proxies.base import Score
from firstlight.storage.environment import this_environment
from firstlight.storage.records import Trial
from firstlight.storage.store import Store, find_store
from firstlight.storage.upkeep import check_store, compact_store


def fill(path: Path, count: int = 300) -> None:
    with Store(path) as store:
        for seed in range(count):
            store.add_score(dataclasses.replace(KEY, seed=seed), SCORE)
        store.add_score(KEY, Score.without_value("failed", "why"))
        store.add_evaluation(TRAINED, RESULT)
        run = store.begin_run({"a": 1}, "1", 0)
        store.add_trial(run, Trial("a", Cost(1, 2), 0.5, 1.0))
        store.finish_run(run, {"best": "a"})


def test_a_check_says_what_there_is_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path)
    before = path.read_bytes()
    found = check_store(path)
    assert path.read_bytes() == before
    assert found.ok
    assert found.rows == {"scores": 300, "evaluations": 1, "runs": 1, "trials": 1}
    assert found.statuses == {"failed": 1, "ok": 299}
    assert (found.finished_runs, found.size) == (1, len(before))
    assert found.environments == [str(this_environment())]


def test_an_older_store_is_checked_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    make_older(path, 1)
    found = check_store(path)
    assert (found.schema, found.ok, found.rows["scores"], found.rows["evaluations"]) == (1, True, 1, 0)
    assert check_store(path).schema == 1


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : 9 * 4096] = b"\xff" * (4 * 4096)
    path.write_bytes(content)
    found = check_store(path)
    assert not found.ok
    assert found.problems
    path.write_bytes(content[:-7])
    with pytest.raises(StoreError, match="truncated"):
        check_store(path)


def test_a_compact_store_holds_the_same_in_less(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path)
    with Store(path) as store:
        store._execute("DELETE FROM scores WHERE seed >= 100")
    assert check_store(path).free > 0
    before, after = compact_store(path)
    assert after < before
    found = check_store(path)
    assert (found.ok, found.free, found.size, found.rows["scores"]) == (True, 0, after, 100)


def test_a_store_is_found_by_its_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store .*store.sqlite. Give the folder"):
        find_store(tmp_path)
    fill(tmp_path / "store.sqlite", 1)
    assert find_store(tmp_path) == find_store(tmp_path / "store.sqlite") == tmp_path / "store.sqlite"
