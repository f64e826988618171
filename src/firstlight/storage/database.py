"""The SQLite file of a store: opening, migration, and errors that say what to do next."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from firstlight.core.errors import StoreError
from firstlight.storage.schema import MIGRATIONS

# Marks the file as a Firstlight store ("1stL"), so that no other database is written to
APPLICATION_ID = 0x3173744C
# Seconds to wait for another process that is writing
PATIENCE = 60.0
MEMORY = ":memory:"

ELSEWHERE = "name another folder with --out (or another file with --store)"
# What the errors of SQLite mean, and what to do
_ADVICE = {
    "disk is full": f"the disk is full. Free some space and run the same command again (stored results are kept), or "
    f"{ELSEWHERE}.",
    "readonly": f"it is read-only. Change the permissions of the file and of its folder, or {ELSEWHERE}.",
    "unable to open": f"the file cannot be opened or created. Check that the folder exists and is writable (SQLite "
    f"writes there even to read), or copy the file, or {ELSEWHERE}.",
    "locked": f"another process has been writing to it for more than {PATIENCE:g} s. Wait until it is done, or "
    f"{ELSEWHERE}. If there is none, the folder may be on a network drive without file locks.",
    "malformed": "the file is damaged or truncated. See `firstlight store check`. Move it away, and restore a backup "
    "if you have one; a run that is started again computes what is missing.",
    "not a database": f"the file is damaged or not a Firstlight store. Move it away, or {ELSEWHERE}.",
    "disk I/O error": f"reading or writing failed; the disk may be full, failing or disconnected. Check it, or "
    f"{ELSEWHERE}.",
}


def open_database(path: str) -> sqlite3.Connection:
    """Open or create a store. An older one is backed up and migrated; a newer one or another database is refused."""
    refuse_cut_off(path)
    with explained(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
        connection.text_factory = readable
        try:
            schema = check_owner(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if schema < len(MIGRATIONS):  # otherwise readers need not wait for writers
                _migrate(connection, path)
        except BaseException:
            connection.close()  # this also rolls back an unfinished migration
            raise
    return connection


def readable(text: bytes) -> str:
    """Decode text that may not be UTF-8: then its row is damaged, but not the whole store."""
    return text.decode(errors="surrogateescape")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn errors of SQLite into a `StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        advice = next((advice for words, advice in _ADVICE.items() if words in str(error)), None)
        what = f"{error}. To continue without it, {ELSEWHERE}." if advice is None else f"{advice} (SQLite: {error})"
        raise StoreError(f"The store {path} cannot be used: {what}") from error


def refuse_cut_off(path: str) -> None:
    """Raise `StoreError` if the last page is incomplete, which SQLite does not notice."""
    try:
        with open(path, "rb") as file:
            header = file.read(18)
    except OSError:  # it does not exist yet, or SQLite will report that it cannot be opened
        return
    page = int.from_bytes(header[16:], "big")
    if header.startswith(b"SQLite format 3") and page > 1 and os.path.getsize(path) % page:  # 1 means 65,536
        raise StoreError(f"The store {path} cannot be used: {_ADVICE['malformed']}")


def check_owner(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version, 0 for an empty file; raises `StoreError` for a newer store or another database."""
    connection.execute("BEGIN")  # a consistent view, although another process may be creating the store
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("COMMIT")
    if tables and owner != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program; {ELSEWHERE}.")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The store {path} was written by a newer Firstlight (schema {version}; this one supports up to "
            f"{len(MIGRATIONS)}). Update Firstlight, or {ELSEWHERE}."
        )
    return int(version)


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("BEGIN IMMEDIATE")  # two processes may open a new store at once
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if 0 < version < len(MIGRATIONS) and path != MEMORY:
        back_up(path, Path(f"{path}.schema{version}.bak"))
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    if version < len(MIGRATIONS):
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("COMMIT")


def back_up(path: str, copy: Path) -> None:
    """Copy everything that is committed, also while others use the file; a failure leaves no partial copy."""
    unfinished = copy.with_name(copy.name + ".part")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # a single file, without a log
        os.replace(unfinished, copy)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
