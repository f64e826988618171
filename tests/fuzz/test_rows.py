"""Rows of a store, damaged one by one: every command that reads it says so, or gives what it gave before."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.cli.command import CELL, SMALL, Done, firstlight
from tests.fuzz.cases import CASES
from tests.fuzz.checking import Target
from tests.fuzz.strategies import INTRUDERS, JSON, NUMBERS, damaged, damaged_json

from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.records import EvaluationKey
from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.watching import Watch

SEARCH = ["search", "nasbench201", "--samples", "3", "--out", "run", *SMALL, "--proxy", "params", "--workers", "0"]
KEY = EvaluationKey("nasbench201", "cells=1", CELL, "digits", "epochs=2", 0, 1)
TRAINED = TrainingResult((Epoch(1.5, 0.5, 1.25, 0.25, 1.0), Epoch(1.0, 0.75, 1.125, 0.5, 1.0)), seconds=2.0)
TABLES = ("scores", "evaluations", "runs", "trials", "environments")


@dataclass(frozen=True)
class Blow:
    """What is put into which column of the first or the last row of a table."""

    table: str
    column: str
    value: Any
    last: bool

    def strike(self, file: Path) -> None:
        """As a text though it may be none, if it is bytes; what the table itself refuses is no damage."""
        with contextlib.closing(sqlite3.connect(file)) as store, contextlib.suppress(sqlite3.IntegrityError), store:
            store.text_factory = bytes
            keys = [row[1].decode() for row in store.execute(f"PRAGMA table_info({self.table})") if row[5]]
            row = store.execute(
                f"SELECT {', '.join(keys)} FROM {self.table} ORDER BY {keys[0]} {'DESC' if self.last else ''} LIMIT 1"
            ).fetchone()
            given = "CAST(? AS TEXT)" if isinstance(self.value, bytes) else "?"
            store.execute(
                f"UPDATE {self.table} SET {self.column} = {given} WHERE "
                + " AND ".join(f"CAST({key} AS BLOB) = CAST(? AS BLOB)" for key in keys),
                (self.value, *row),
            )


@dataclass(frozen=True)
class Whole:
    """A run whose search has ended, and what a search that is started again must find."""

    folder: Path
    columns: dict[str, dict[str, Any]]
    best: Any


def whole(folder: Path) -> Whole:
    firstlight(*SEARCH, folder=folder)
    file = folder / "run" / STORE_NAME
    with Store(file) as store:
        store.add_evaluation(KEY, TRAINED)
    with contextlib.closing(sqlite3.connect(file)) as store:
        store.execute("PRAGMA journal_mode = DELETE")
        store.row_factory = sqlite3.Row
        columns = {table: dict(store.execute(f"SELECT * FROM {table}").fetchone()) for table in TABLES}
    return Whole(folder, columns, _best(folder))


def _best(folder: Path) -> Any:
    best = json.loads((folder / "run" / "result.json").read_text())["best"]
    return best["architecture"], best["scores"]["params"]["value"]


def blows(columns: dict[str, dict[str, Any]]) -> st.SearchStrategy[list[Blow]]:
    @st.composite
    def one(draw: Any) -> Blow:
        table = draw(st.sampled_from(TABLES))
        column = draw(st.sampled_from(sorted(columns[table])))
        stored = columns[table][column]
        values = [
            st.integers(-(2**63), 2**63 - 1) | st.floats() | st.none() | st.booleans(),
            st.sampled_from((*INTRUDERS, *NUMBERS, "[" * 100_000, '{"a":' * 50_000, '{"a": ' + "9" * 5000 + "}")),
            st.binary(max_size=12),
            JSON.map(json.dumps),
        ]
        if isinstance(stored, str):
            with contextlib.suppress(ValueError):
                values += [damaged_json(json.loads(stored))] * 2
            values.append(damaged(stored))
        value = draw(st.one_of(values))
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")  # what cannot be a text is put there as well
        return Blow(table, column, value, draw(st.booleans()))

    return st.lists(one(), min_size=1, max_size=2)


def check(known: Whole, place: Path, given: list[Blow]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(known.folder, place)
    for blow in given:
        blow.strike(place / "run" / STORE_NAME)
    health = _run(place, "store", "check", "run", "--json")
    exports = [_run(place, "store", "export", "run", "rows.parquet", "--table", table) for table in TABLES[:2]]
    exports += [_run(place, "store", "export", "run", "rows.csv", "--table", "trials")]
    merged = _run(place, "store", "merge", "new.sqlite", "run")
    assert not merged.code, "damaged rows are no reason to leave whole ones behind"
    if any(done.code for done in exports) or "left out" in merged.stdout:
        assert health.code == 1, "damage that the check did not find"
    assert not _run(place, "store", "check", "new.sqlite").code, "damage was merged"
    _run(place, "store", "compact", "run")
    _run(place, "report", "run")
    _run(place, "plot", "front", "run", "-o", "front.svg")
    with Watch(place / "run") as watch:
        watch.page("")
    found = _run(place, *SEARCH)
    if not found.code and health.code and "value" not in {blow.column for blow in given}:
        assert _best(place) == known.best


def _run(place: Path, *arguments: str) -> Done:
    done = firstlight(*arguments, folder=place, code=None)
    assert done.code in (0, 1, 2), done
    assert done.code == 0 or (done.stdout + done.stderr).strip(), "it says nothing"
    assert "Traceback" not in done.stdout + done.stderr, done
    return done


def try_out(folder: Path, cases: int) -> int:
    (folder / "whole").mkdir()
    known = whole(folder / "whole")
    return Target(lambda given: check(known, folder / "struck", given), blows(known.columns)).try_out(cases)


def test_damaged_rows(tmp_path: Path) -> None:
    try_out(tmp_path, 8)


@pytest.mark.slow
def test_many_damaged_rows(tmp_path: Path) -> None:
    print(f"rows of a store: {try_out(tmp_path, CASES)} cases")
