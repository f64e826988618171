"""Merging the stores of several machines.

A result that both stores have stays as it is in the target. Results whose status may change the next time are replaced
by those that are final, and damaged rows by intact ones.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from firstlight.core.errors import StoreError
from firstlight.storage.database import back_up, check_owner, explained, open_database, readable, refuse_cut_off
from firstlight.storage.records import EvaluationKey, ScoreKey
from firstlight.storage.rows import COLUMNS, damage, identity
from firstlight.storage.schema import MIGRATIONS
from firstlight.storage.store import PASSING_STATUSES

# For each table of results: the columns of the key, and the column by which two results are compared
_RESULTS = {
    "scores": ([field.name for field in fields(ScoreKey)], "value"),
    "evaluations": ([field.name for field in fields(EvaluationKey)], "accuracy"),
}
_ENVIRONMENT = "firstlight, torch, python, cpu"
_PASSING = str(PASSING_STATUSES)


@dataclass(frozen=True)
class Merged:
    """What was merged from a store.

    Attributes:
        path: The source.
        scores: The number of scores that were added.
        evaluations: The number of evaluations that were added.
        runs: The number of runs that were added.
        trials: The number of trials that were added.
        differing: The number of results that have another value in the target, and were not added.
        damaged: The number of damaged rows, which were not added.
    """

    path: Path
    scores: int
    evaluations: int
    runs: int
    trials: int
    differing: int
    damaged: int = 0


def merge_stores(into: Path, sources: Sequence[Path]) -> list[Merged]:
    """Add the contents of stores to another.

    All sources are checked before anything is written, and none is changed. Each is added completely or not at all.

    Args:
        into: The target, which is created if it does not exist.
        sources: The stores to add.

    Returns:
        What was added from each source.

    Raises:
        StoreError: If a source cannot be read, or is the target.
    """
    for source in sources:
        if source.resolve() == into.resolve():
            raise StoreError(f"{source} is also the destination of the merge. Leave it out of the sources.")
        _schema(source)
    with explained(str(into)), closing(open_database(str(into))) as connection:
        return [_merge(connection, source) for source in sources]


def _schema(path: Path) -> int:
    refuse_cut_off(str(path))
    with explained(str(path)), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return check_owner(connection, str(path))


def _merge(connection: sqlite3.Connection, source: Path) -> Merged:
    with _up_to_date(source) as path, explained(str(source)):
        connection.execute("ATTACH ? AS other", (str(path),))
        sieve = _Sieve()
        connection.create_function("is_whole", -1, lambda table, *row: damage(table, _values(row)) is None)
        connection.create_function("passes", -1, sieve)
        try:
            with connection:  # all or nothing
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(
                    f"INSERT OR IGNORE INTO main.environments ({_ENVIRONMENT}) SELECT {_ENVIRONMENT} "
                    f"FROM other.environments AS theirs WHERE {_passes('environments')}"
                )
                differing = sum(_differing(connection, table) for table in _RESULTS)
                scores, evaluations = (_add_results(connection, table) for table in _RESULTS)
                runs, trials = _add_runs(connection)
        finally:
            connection.execute("DETACH other")
    return Merged(source, scores, evaluations, runs, trials, differing, len(sieve.damaged))


class _Sieve:
    """Tells which rows of a source are intact, and counts damaged ones once, although SQLite may ask repeatedly."""

    def __init__(self) -> None:
        self.damaged: set[tuple[Any, ...]] = set()

    def __call__(self, table: str, *row: Any) -> bool:
        values = _values(row)
        whole = damage(table, values) is None
        if not whole:
            self.damaged.add((table, *identity(table, values)))
        return whole


def _passes(table: str) -> str:
    return f"passes('{table}', {_columns(table, 'theirs')})"


def _is_whole(table: str) -> str:
    return f"is_whole('{table}', {_columns(table, 'ours')})"


def _columns(table: str, side: str) -> str:
    """Encode text as blobs and blobs as text, for `_values`: SQLite passes no text to functions that is not UTF-8."""
    return ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) WHEN 'blob' THEN hex({name}) ELSE {name} END"
        for name in (f"{side}.{column}" for column in COLUMNS[table])
    )


def _values(given: Sequence[Any]) -> list[Any]:
    return [readable(v) if isinstance(v, bytes) else bytes.fromhex(v) if isinstance(v, str) else v for v in given]


def _differing(connection: sqlite3.Connection, table: str) -> int:
    key, figure = _RESULTS[table]
    # CASE, because SQLite would otherwise check every row of theirs, even without a counterpart of ours
    (count,) = connection.execute(
        f"SELECT count(*) FROM other.{table} AS theirs JOIN main.{table} AS ours USING ({', '.join(key)}) "
        f"WHERE theirs.status NOT IN {_PASSING} AND ours.status NOT IN {_PASSING} "
        f"AND CASE WHEN theirs.{figure} IS NOT ours.{figure} OR theirs.status <> ours.status "
        f"THEN {_passes(table)} AND {_is_whole(table)} END"
    ).fetchone()
    return int(count)


def _add_results(connection: sqlite3.Connection, table: str) -> int:
    key, _ = _RESULTS[table]
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})")]
    here = (
        f"(SELECT main.environments.id FROM other.environments AS e JOIN main.environments USING ({_ENVIRONMENT}) "
        "WHERE e.id = theirs.environment)"
    )
    values = ", ".join(here if name == "environment" else f"theirs.{name}" for name in columns)
    others = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return connection.execute(
        f"INSERT INTO main.{table} AS ours ({', '.join(columns)}) SELECT {values} FROM other.{table} AS theirs "
        f"WHERE {_passes(table)} "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {others} "
        f"WHERE ours.status IN {_PASSING} AND excluded.status NOT IN {_PASSING} OR NOT {_is_whole(table)}"
    ).rowcount


def _add_runs(connection: sqlite3.Connection) -> tuple[int, int]:
    """Add runs, which are identified by their settings, and trials; a run that is finished there is finished here."""
    runs = connection.execute(
        "INSERT INTO main.runs AS ours (settings, version, seed, started) "
        f"SELECT settings, version, seed, started FROM other.runs AS theirs WHERE {_passes('runs')} "
        "ON CONFLICT (settings) DO UPDATE SET (version, seed, started, finished, result) = "
        f"(excluded.version, excluded.seed, excluded.started, NULL, NULL) WHERE NOT {_is_whole('runs')}"
    ).rowcount
    connection.execute(
        "UPDATE main.runs SET (finished, result) = "
        "(SELECT finished, result FROM other.runs AS theirs WHERE theirs.settings = main.runs.settings) "
        "WHERE finished IS NULL AND settings IN "
        f"(SELECT settings FROM other.runs AS theirs WHERE result IS NOT NULL AND {_passes('runs')})"
    )
    trials = connection.execute(
        "INSERT INTO main.trials AS ours SELECT here.id, architecture, params, macs, utility, elapsed, dear_costs "
        "FROM other.trials AS theirs JOIN other.runs AS its ON its.id = run JOIN main.runs AS here USING (settings) "
        f"WHERE {_passes('trials')} "
        "ON CONFLICT (run, architecture) DO UPDATE SET (params, macs, utility, elapsed, dear_costs) = "
        "(excluded.params, excluded.macs, excluded.utility, excluded.elapsed, excluded.dear_costs) "
        f"WHERE NOT {_is_whole('trials')}"
    ).rowcount
    return runs, trials


@contextmanager
def _up_to_date(source: Path) -> Iterator[Path]:
    """Yield the store itself, or a migrated copy of an older one."""
    if _schema(source) == len(MIGRATIONS):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="firstlight-") as folder:
        copy = Path(folder) / source.name
        back_up(str(source), copy)
        open_database(str(copy)).close()
        yield copy
