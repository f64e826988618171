"""Merged stores hold what any of them held, and nothing twice."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.test_database import make_older
from tests.storage.test_store import KEY, RESULT, SCORE, TRAINED

from firstlight.core.errors import StoreError
from firstlight.probe.cost import Cost
from firstlight.proxies.base import Score
from firstlight.storage.environment import Environment
from firstlight.storage.merge import Merged, merge_stores
from firstlight.storage.records import Trial
from firstlight.storage.store import Store

# By seed: a value, or None for a network whose worker died
Content = dict[int, float | None]
contents = st.dictionaries(st.integers(0, 6), st.none() | st.sampled_from([1.0, 2.0, 3.0]), max_size=6)


def write(path: Path, content: Content) -> None:
    with Store(path) as store:
        for seed, value in content.items():
            score = Score.without_value("failed", "died") if value is None else Score(value)
            store.add_score(dataclasses.replace(KEY, seed=seed), score)


def read(path: Path) -> Content:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT seed, value FROM scores"))


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(st.lists(contents, min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_merging(stores: list[Content]) -> None:
    with folder() as place:
        paths = [place / f"{number}.sqlite" for number in range(len(stores))]
        for path, content in zip(paths, stores, strict=True):
            write(path, content)
        into, *sources = paths
        merged = merge_stores(into, sources)
        expected, differing = dict(stores[0]), []
        for content in stores[1:]:
            differing.append(sum(None not in (expected.get(s), v) and expected[s] != v for s, v in content.items()))
            expected |= {seed: value for seed, value in content.items() if expected.get(seed) is None}
        assert read(into) == expected
        assert [entry.differing for entry in merged] == differing
        assert [read(source) for source in sources] == stores[1:]
        again = merge_stores(into, sources)  # nothing more to take
        assert [entry.scores for entry in again] == [0] * len(sources)
        assert read(into) == expected
        by_one = place / "new.sqlite"
        merge_stores(by_one, [into])
        assert read(by_one) == expected


def test_runs_are_known_by_their_settings_and_end_once(tmp_path: Path) -> None:
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    with Store(here) as store:
        store.add_trial(store.begin_run({"seed": 1}, "1", 1), Trial("a", Cost(1, 2), 0.5, 1.0))
    with Store(there) as store:
        store.begin_run({"seed": 9}, "1", 9)
        run = store.begin_run({"seed": 1}, "1", 1)
        for text in ("a", "b"):
            store.add_trial(run, Trial(text, Cost(1, 2), 0.75, 2.0))
        store.finish_run(run, {"best": "b"})
        store.add_evaluation(TRAINED, RESULT)
    assert merge_stores(here, [there]) == [Merged(there, 0, 1, 1, 1, 0)]
    with Store(here) as store:
        first, second = store.runs()
        assert (first.settings, first.result, second.settings) == ({"seed": 1}, {"best": "b"}, {"seed": 9})
        assert first.finished is not None
        assert [(trial.architecture, trial.utility) for trial in store.trials(first)] == [("a", 0.5), ("b", 0.75)]
        assert store.find_evaluation(TRAINED) == RESULT


def test_results_keep_the_versions_that_computed_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    write(here, {0: 1.0})
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("firstlight.storage.store.this_environment", lambda: Environment("0", "1.9", "2.7", "vax"))
        write(there, {1: 2.0})
    merge_stores(here, [there])
    with Store(here) as store:
        assert store.find_score(KEY) == Score(1.0)
        assert store.remarks() == []
        assert store.find_score(dataclasses.replace(KEY, seed=1)) == Score(2.0)
        assert "PyTorch 1.9 on vax" in store.remarks()[0]


def test_older_stores_are_read_and_left_alone(tmp_path: Path) -> None:
    here, older = tmp_path / "here.sqlite", tmp_path / "older.sqlite"
    make_older(older, 1)
    before = older.read_bytes()
    assert merge_stores(here, [older]) == [Merged(older, 1, 0, 1, 1, 0)]
    assert older.read_bytes() == before
    with Store(here) as store:
        assert store.find_score(KEY) == SCORE


def test_what_cannot_be_merged_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    here, there, newer = (tmp_path / f"{name}.sqlite" for name in ("here", "there", "newer"))
    write(there, {0: 1.0})
    write(newer, {1: 1.0})
    with contextlib.closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"newer.sqlite was written by a newer Firstlight \(schema 99"):
        merge_stores(here, [there, newer])
    assert not here.exists()
    with pytest.raises(StoreError, match="Leave it out"):
        merge_stores(there, [there])
