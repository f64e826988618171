"""The SQLite file of a store: opened if it is ours, brought up to date, and its errors told with what to do next."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from firstlight.core.errors import StoreError
from firstlight.storage.schema import MIGRATIONS

# Marks the file as ours ("1stL"), so that nobody else's database is written into
APPLICATION_ID = 0x3173744C
# Seconds to wait for another process that is writing
PATIENCE = 60.0
MEMORY = ":memory:"

ELSEWHERE = "name another folder with --out (or another file with --store)"
# What SQLite says, and what it means to the user
_ADVICE = {
    "disk is full": f"the disk is full. Make room and run the same command again, or {ELSEWHERE}: what was stored "
    "before is kept.",
    "readonly": f"it may not be written to. Change the permissions of the file and of its folder, or {ELSEWHERE}.",
    "unable to open": f"the file cannot be opened or made. See whether the folder is there and may be written to "
    f"(SQLite does so even to read), or copy the file, or {ELSEWHERE}.",
    "locked": f"another process has been writing to it for more than {PATIENCE:g} s. Wait until it is done, or "
    f"{ELSEWHERE}. If there is none, the folder may be on a network drive that cannot lock files.",
    "malformed": "the file is damaged or cut off. See `firstlight store check`. Move it away, and put a backup in its "
    "place if you have one; a run that is started again computes what is missing.",
    "not a database": f"the file is damaged or no Firstlight store. Move it away, or {ELSEWHERE}.",
    "disk I/O error": f"the disk does not do as it is told; it may be full, failing or gone. Look after it, or "
    f"{ELSEWHERE}.",
}


def open_database(path: str) -> sqlite3.Connection:
    """Refuses what is not ours or too new before anything is written; an older store is migrated, after a backup."""
    refuse_cut_off(path)
    with explained(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
        connection.text_factory = readable
        try:
            schema = check_owner(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if schema < len(MIGRATIONS):  # else whoever only reads need not wait for those who write
                _migrate(connection, path)
        except BaseException:
            connection.close()  # which also undoes a migration that was under way
            raise
    return connection


def readable(text: bytes) -> str:
    """Though it may be no UTF-8: then its row is damaged, and not all of the store."""
    return text.decode(errors="surrogateescape")


@contextmanager
def explained(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        advice = next((advice for words, advice in _ADVICE.items() if words in str(error)), None)
        what = f"{error}. To go on without it, {ELSEWHERE}." if advice is None else f"{advice} (SQLite: {error})"
        raise StoreError(f"The store {path} cannot be used: {what}") from error


def refuse_cut_off(path: str) -> None:
    """SQLite itself notices missing pages, but reads on where the end of one is missing."""
    try:
        with open(path, "rb") as file:
            header = file.read(18)
    except OSError:  # not there yet, or nothing that can be opened, as SQLite will say
        return
    page = int.from_bytes(header[16:], "big")
    if header.startswith(b"SQLite format 3") and page > 1 and os.path.getsize(path) % page:  # 1 means 65,536
        raise StoreError(f"The store {path} cannot be used: {_ADVICE['malformed']}")


def check_owner(connection: sqlite3.Connection, path: str) -> int:
    """The schema of a store of ours that is not too new; 0 for a file that is yet empty."""
    connection.execute("BEGIN")  # what is read is of one moment, though others may be creating the store
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("COMMIT")
    if tables and owner != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program. Of your own, {ELSEWHERE}.")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The store {path} was written by a newer Firstlight (schema {version}; this one knows up to "
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
    """All that is committed, though others may be using the file; the copy is there as a whole or not at all."""
    unfinished = copy.with_name(copy.name + ".part")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        os.replace(unfinished, copy)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
