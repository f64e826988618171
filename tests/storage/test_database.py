"""Files that are not as they should be: migrated with a backup, or refused with a word about what to do."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.test_store import KEY, RESULT, SCORE, TRAINED

from firstlight.core.errors import StoreError
from firstlight.storage.database import APPLICATION_ID
from firstlight.storage.schema import MIGRATIONS
from firstlight.storage.store import Store


def make_older(path: Path, version: int) -> None:
    """A store as the Firstlight of that schema wrote it, with a score of `KEY`."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in (statement for statements in MIGRATIONS[:version] for statement in statements):
            connection.execute(statement)
        row = [*KEY.as_tuple(), SCORE.value, '{"part": -3.141592653589793}', SCORE.status, SCORE.note, SCORE.seconds]
        row += [None] if version >= 4 else []  # the environment
        connection.execute(f"INSERT INTO scores VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("INSERT INTO runs (settings, version, seed) VALUES ('{}', '0.1', 0)")
        trial = (1, "|arch|", 1, 2, 0.5, 0.1, *(["{}"] if version >= 3 else []))
        connection.execute(f"INSERT INTO trials VALUES ({', '.join('?' * len(trial))})", trial)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.commit()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_older_store_gains_what_it_lacks_and_leaves_a_backup(version: int, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    make_older(path, version)
    with Store(path) as store:
        store.add_evaluation(TRAINED, RESULT)
        assert (store.find_score(KEY), store.find_evaluation(TRAINED)) == (SCORE, RESULT)
        assert [trial.utility for trial in store.trials(store.run(1))] == [0.5]
        (said,) = store.remarks()
        assert "1 reused result was computed by versions that were not recorded" in said
    backup = tmp_path / f"store.sqlite.schema{version}.bak"
    assert {file.name for file in tmp_path.iterdir()} == {path.name, backup.name}
    with contextlib.closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert connection.execute("SELECT value FROM scores").fetchall() == [(SCORE.value,)]
    Store(path).close()  # nothing more to migrate
    assert {file.name for file in tmp_path.iterdir()} == {path.name, backup.name}


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="newer Firstlight"):
        Store(path)
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("this is not a database, but it is long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(path)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path)


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(path)
    assert path.read_bytes() == before


def test_an_unfinished_migration_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.add_score(KEY, SCORE)
    broken = ("CREATE TABLE extra (a)", "CREATE TABLE runs (a)")
    monkeypatch.setattr("firstlight.storage.database.MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(StoreError, match="already exists"):
        Store(path)
    monkeypatch.setattr("firstlight.storage.database.MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE extra (a)",)))
    with Store(path) as store:
        assert store.find_score(KEY) == SCORE


def test_a_store_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.add_score(KEY, SCORE)
    whole = path.read_bytes()
    for length in (len(whole) - 1000, len(whole) // 2, 300):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"damaged or .*Move it away"):
            Store(path)


def test_what_was_not_yet_written_to_the_end_is_forgotten_and_the_rest_is_not(tmp_path: Path) -> None:
    path, cut = tmp_path / "store.sqlite", tmp_path / "cut.sqlite"
    with Store(path) as store:
        store.add_score(KEY, SCORE)
        store.add_evaluation(TRAINED, RESULT)
        shutil.copy(path, cut)  # as a killed process leaves it: the last change is in the log beside the file
        log = Path(f"{path}-wal").read_bytes()
        Path(f"{cut}-wal").write_bytes(log[:-100])
    with Store(cut) as store:
        assert (store.find_score(KEY), store.find_evaluation(TRAINED)) == (SCORE, None)


def test_a_store_that_somebody_else_is_writing_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    monkeypatch.setattr("firstlight.storage.database.PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other, Store(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another process has been writing.*--store"):
            store.add_score(KEY, SCORE)
        other.execute("COMMIT")
        store.add_score(KEY, SCORE)
        assert store.find_score(KEY) == SCORE


WRITE = """
import os, sys
from pathlib import Path
from tests.storage.test_store import KEY, SCORE
from firstlight.core.errors import StoreError
from firstlight.storage.store import Store
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
for path in sys.argv[1:]:
    try:
        Store(Path(path)).add_score(KEY, SCORE)
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another matter there")
def test_files_and_folders_that_may_not_be_written_to() -> None:
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as name:  # which others may enter, unlike the folders of pytest
        folder = Path(name)
        Store(folder / "store.sqlite").close()
        (folder / "store.sqlite").chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", WRITE, folder / "store.sqlite", folder / "new.sqlite"],
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=True,
        )
        folder.chmod(0o755)
    old, new = done.stdout.splitlines()
    assert "it is read-only. Change the permissions of the file and of its folder" in old
    assert "cannot be opened or created. Check that the folder exists and is writable" in new


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be made here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_told_and_keeps_what_was_stored(tiny_disk: Path) -> None:
    path = tiny_disk / "store.sqlite"
    kept = []

    def fill(store: Store) -> None:
        for seed in range(5000):
            store.add_score(dataclasses.replace(KEY, seed=seed), SCORE)
            kept.append(seed)

    with (
        pytest.raises(StoreError, match=r"the disk is full. Free some space and run the same command again"),
        Store(path) as store,
    ):
        fill(store)
    assert len(kept) > 10
    with Store(path) as store:
        assert all(store.find_score(dataclasses.replace(KEY, seed=seed)) == SCORE for seed in kept)
