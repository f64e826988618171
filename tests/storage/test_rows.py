"""A row that holds something else than was stored is named, left behind or computed again, and never taken for true."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

import pytest
from tests.cli.command import firstlight
from tests.storage.test_database import make_older
from tests.storage.test_store import KEY, RESULT, SCORE, TRAINED
from tests.storage.test_upkeep import fill

from firstlight.core.errors import StoreError
from firstlight.probe.cost import Cost
from firstlight.storage.export import export_rows
from firstlight.storage.merge import Merged, merge_stores
from firstlight.storage.records import Trial
from firstlight.storage.rows import damaged_error
from firstlight.storage.schema import MIGRATIONS
from firstlight.storage.store import Store
from firstlight.storage.upkeep import check_store

# what is done to a store, and what is said of it
DAMAGE = {
    "UPDATE scores SET parts = '[1]' WHERE seed = 2": "seed 2: parts is '[1]', which is not a JSON dict",
    'UPDATE scores SET parts = \'{"part": "much"}\' WHERE seed = 2': "parts: part is 'much', which is not a number",
    "UPDATE scores SET value = NULL WHERE seed = 2": "value is None though the status is ok",
    "UPDATE scores SET value = 'high' WHERE seed = 2": "value is 'high', which is not a number",
    "UPDATE scores SET value = 9e999 WHERE seed = 2": "value is inf, which is not a number",
    "UPDATE scores SET status = 'fine' WHERE seed = 2": "status is 'fine', which is not one of ok, ",
    "UPDATE scores SET architecture = x'00' WHERE seed = 2": r"architecture is b'\x00', which is not text",
    "UPDATE scores SET note = CAST(x'ff' AS TEXT) WHERE seed = 2": r"note is '\udcff', which is not UTF-8",
    "UPDATE scores SET proxy = CAST(x'ff' AS TEXT) WHERE seed = 2": r"proxy is '\udcff', which is not UTF-8",
    "UPDATE scores SET environment = 9 WHERE seed = 2": "scores: 1 reference to missing rows of environments",
    "UPDATE evaluations SET accuracy = 0.9": "accuracy is 0.9, but 0.7 by its epochs",
    "UPDATE evaluations SET epochs = '[1, 2]'": "epochs is '[1, 2]', which is not a list of epochs",
    "UPDATE evaluations SET epochs = '[]'": "there are no epochs though the status is ok",
    "UPDATE runs SET started = x'00'": r"runs, id 1: started is b'\x00', which is not text",
    "UPDATE runs SET settings = '{'": "runs, id 1: settings is '{', which is not JSON",
    f"UPDATE runs SET result = '{'[' * 9999}'": "runs, id 1: result is '[[[",
    "UPDATE trials SET params = -1": "trials, run 1, architecture 'a': params is -1, which is less than 0",
    f"UPDATE trials SET dear_costs = '{{\"latency\": 1{'0' * 400}}}'": "dear_costs: latency is a huge number",
    "UPDATE trials SET run = 7": "trials: 1 reference to missing rows of runs",
    "UPDATE environments SET torch = x'00'": r"torch is b'\x00', which is not text",
}


def change(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as store, store:
        store.execute(statement)


@pytest.mark.parametrize("statement", DAMAGE, ids=range(len(DAMAGE)))
def test_the_check_names_them(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    assert check_store(path).ok
    change(path, statement)
    problems = check_store(path).problems
    assert DAMAGE[statement] in "\n".join(problems)
    assert len(problems) == 1


def test_of_many_the_check_names_some(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 14)
    change(path, "UPDATE scores SET seconds = 'long'")
    assert check_store(path).problems[10:] == ["and 4 other rows"]


LONG = "|" + "nor_conv_3x3~0|" * 9


def damage_five(path: Path) -> None:
    """Rows that differ in their keys only, at the end of long texts or elsewhere."""
    with Store(path) as store:
        for number in range(5):
            store.add_score(dataclasses.replace(KEY, architecture=f"{LONG}{number % 3}", input=f"{number}"), SCORE)
    change(path, "UPDATE scores SET seconds = 'long'")


def test_damaged_rows_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    damage_five(path)
    problems = check_store(path).problems
    assert len(set(problems)) == 5
    assert f"architecture '{LONG}0', proxy 'dextr', revision 1, input '3', seed 0: seconds is 'long'" in problems[1]


def test_what_is_wrong_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    change(path, f"UPDATE scores SET value = '{'x' * 999}' WHERE seed = 0")  # that of a failure, which has none
    assert check_store(path).problems[0].endswith("xxx... though the status is failed")


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_the_check_looks_at_all_rows_of_an_older_store(version: int, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    make_older(path, version)
    assert check_store(path).ok
    for table, column in (("scores", "seconds"), ("trials", "elapsed"), ("runs", "started")):
        change(path, f"UPDATE {table} SET {column} = x'00'")
    told = [problem.partition(",")[0] for problem in check_store(path).problems]
    assert told == ["scores", "runs", "trials"]


def test_what_is_proposed_can_be_typed(tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    fill(folder / "store.sqlite", 3)
    change(folder / "store.sqlite", "UPDATE trials SET params = -1")
    said = firstlight("store", "check", "my runs", folder=tmp_path, code=1).stdout
    assert "firstlight store merge new.sqlite 'my runs/store.sqlite'. Missing" in said
    said = firstlight("store", "merge", "new.sqlite", "my runs", folder=tmp_path).stdout
    assert "`firstlight store check 'my runs/store.sqlite'` lists the first ten" in said
    said = str(damaged_error("my runs/store.sqlite", "why"))
    assert "`firstlight store check 'my runs/store.sqlite'` lists the first ten" in said
    assert "`firstlight store merge new.sqlite 'my runs/store.sqlite'`" in said


def test_results_are_asked_for_again_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    change(path, "UPDATE scores SET parts = '[1]' WHERE seed = 2")
    change(path, "UPDATE evaluations SET note = CAST(x'ff' AS TEXT)")
    key = dataclasses.replace(KEY, seed=2)
    with Store(path) as store:
        assert store.find_score(dataclasses.replace(KEY, seed=1)) == SCORE
        assert store.remarks() == []
        assert store.find_score(key) is None
        assert store.find_evaluation(TRAINED) is None
        assert store.remarks() == ["2 stored results were damaged and computed again."]
        store.add_score(key, SCORE)
        store.add_evaluation(TRAINED, RESULT)
        assert (store.find_score(key), store.find_evaluation(TRAINED)) == (SCORE, RESULT)
    assert check_store(path).ok


def test_an_environment_that_is_not_there_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    change(path, "DELETE FROM environments")
    with Store(path) as store:
        assert store.find_score(dataclasses.replace(KEY, seed=2)) == SCORE
        assert "versions that were not recorded" in store.remarks()[0]


def test_a_trial_is_mended_when_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    change(path, "UPDATE trials SET params = 'few', elapsed = 'long', dear_costs = '7'")
    trial = Trial("a", Cost(1, 2), 0.5, 3.0)
    with Store(path) as store:
        (run,) = store.runs()
        with pytest.raises(StoreError, match=r"trials, run 1, architecture 'a': params is 'few'.*store check.*merge"):
            store.trials(run)
        assert store.elapsed(run) == 0.0
        store.add_trial(run, trial)
        assert store.trials(run) == [trial]


def test_a_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(path, 3)
    change(path, "UPDATE runs SET result = '[]'")
    with Store(path) as store, pytest.raises(StoreError, match=r"runs, id 1: result is '\[\]'.*store merge"):
        store.runs()


@pytest.mark.parametrize("statement", [s for s, said in DAMAGE.items() if "which is" in said])
def test_merging_leaves_them_behind(statement: str, tmp_path: Path) -> None:
    path, new = tmp_path / "store.sqlite", tmp_path / "new.sqlite"
    fill(path, 3)
    change(path, statement)
    (merged,) = merge_stores(new, [path])
    assert merged.damaged == 1
    assert check_store(new).ok


def test_merging_counts_each_of_them_once(tmp_path: Path) -> None:
    path, new = tmp_path / "store.sqlite", tmp_path / "new.sqlite"
    damage_five(path)
    assert merge_stores(new, [path, path]) == [Merged(path, 0, 0, 0, 0, 0, damaged=5)] * 2


# Rows that both have; of each table one that can be known again by its key
REPLACED = {
    "UPDATE scores SET value = 'high' WHERE seed = 2": (1, 0, 0, 0),
    "UPDATE scores SET note = CAST(x'ff' AS TEXT) WHERE seed = 2": (1, 0, 0, 0),
    "UPDATE scores SET note = x'00', value = 7 WHERE seed = 2": (1, 0, 0, 0),
    "UPDATE evaluations SET accuracy = 0.9": (0, 1, 0, 0),
    "UPDATE runs SET result = '[]'": (0, 0, 1, 0),
    "UPDATE trials SET params = 'few'": (0, 0, 0, 1),
}


@pytest.mark.parametrize("statement", REPLACED)
def test_damaged_rows_give_way_to_whole_ones_and_not_the_other_way_round(statement: str, tmp_path: Path) -> None:
    whole, damaged = tmp_path / "whole.sqlite", tmp_path / "damaged.sqlite"
    for path in (whole, damaged):
        fill(path, 3)
    change(damaged, statement)
    assert merge_stores(whole, [damaged]) == [Merged(damaged, 0, 0, 0, 0, 0, damaged=1)]
    assert merge_stores(damaged, [whole]) == [Merged(whole, *REPLACED[statement], differing=0)]
    assert check_store(damaged).ok
    assert merge_stores(damaged, [whole]) == [Merged(whole, 0, 0, 0, 0, differing=0)]
    with Store(damaged) as store:
        (run,) = store.runs()
        assert run.result == {"best": "a"}
        assert run.finished is not None
        assert store.trials(run) == [Trial("a", Cost(1, 2), 0.5, 1.0)]
        assert store.find_score(dataclasses.replace(KEY, seed=2)) == SCORE
        assert store.find_evaluation(TRAINED) == RESULT


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_exporting_refuses_them(suffix: str, tmp_path: Path) -> None:
    path, out = tmp_path / "store.sqlite", tmp_path / f"rows{suffix}"
    fill(path, 3)
    change(path, "UPDATE scores SET value = 'high' WHERE seed = 2")
    with pytest.raises(StoreError, match=r"seed 2: value is 'high'.*store check"):
        export_rows(path, out)
    assert not out.exists()
    assert export_rows(path, out, "evaluations") == 1
    change(path, "UPDATE environments SET torch = x'00ff'")
    with pytest.raises(StoreError, match="does not have the type of its column"):
        export_rows(path, out, "evaluations")
