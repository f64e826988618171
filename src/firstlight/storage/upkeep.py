"""Maintenance of a store: check it, count what it holds, and compact it."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from firstlight.proxies.base import Status
from firstlight.storage.database import check_owner, explained, open_database, readable, refuse_cut_off
from firstlight.storage.environment import Environment
from firstlight.storage.rows import COLUMNS, damage

TABLES = ("scores", "evaluations", "runs", "trials")
# The number of problems that are listed
_MOST_PROBLEMS = 10
# Columns that older stores lack, and their value after a migration
_LATER = {"dear_costs": "'{}'"}


@dataclass
class Health:
    """The state of a store; of a damaged one, what could be read.

    Attributes:
        path: The file.
        schema: The schema version.
        problems: The first problems that were found.
        size: Bytes, with the log beside the file.
        free: Bytes that are unused.
        rows: The number of rows of each table.
        statuses: The number of scores of each status.
        finished_runs: The number of finished runs.
        environments: What the results were computed with.
    """

    path: Path
    schema: int = 0
    problems: list[str] = field(default_factory=list)
    size: int = 0
    free: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    finished_runs: int = 0
    environments: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path), "ok": self.ok}


def check_store(path: Path) -> Health:
    """Read the whole store without changing it. A newer store or a file of another program raises `StoreError`."""
    found = Health(path, size=_size(path))
    refuse_cut_off(str(path))
    with explained(str(path)), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.isolation_level = None
        connection.text_factory = readable
        found.schema = check_owner(connection, str(path))
        try:
            _read(connection, found)
        except sqlite3.DatabaseError as error:
            found.problems.append(str(error))
    return found


def _read(connection: sqlite3.Connection, found: Health) -> None:
    said = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
    found.problems += [text for (text,) in said if text != "ok"]
    (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size"))
    found.free = pages * size
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in TABLES:
        found.rows[table] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table in there else 0
    if "scores" in there:
        counts = connection.execute("SELECT status, count(*) FROM scores GROUP BY status ORDER BY status")
        found.statuses = {status: count for status, count in counts if status in get_args(Status)}
        (found.finished_runs,) = connection.execute("SELECT count(finished) FROM runs").fetchone()
    if "environments" in there:
        rows = connection.execute("SELECT firstlight, torch, python, cpu FROM environments ORDER BY id")
        found.environments = [str(Environment(*row)) for row in rows if damage("environments", row) is None]
    found.problems += _first(
        problem for table in COLUMNS if table in there for problem in _damaged_rows(connection, table)
    )
    found.problems += _missing(connection)


def _damaged_rows(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    known = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    columns = [name if name in known else _LATER.get(name, name) for name in COLUMNS[table]]
    for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):
        what = damage(table, row)
        if what is not None:
            yield what


def _missing(connection: sqlite3.Connection) -> list[str]:
    """Return references to rows that do not exist."""
    gone = Counter((table, named) for table, _, named, _ in connection.execute("PRAGMA foreign_key_check"))
    return [
        f"{table}: {count:,} {'reference' if count == 1 else 'references'} to missing rows of {named}"
        for (table, named), count in gone.items()
    ]


def _first(problems: Iterator[str]) -> list[str]:
    told = list(itertools.islice(problems, _MOST_PROBLEMS))
    others = sum(1 for _ in problems)
    return told + [f"and {others:,} other rows"] * bool(others)


def compact_store(path: Path) -> tuple[int, int]:
    """Free unused space and remove the log beside the file; returns bytes before and after."""
    before = _size(path)
    with explained(str(path)), closing(open_database(str(path))) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, _size(path)


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
