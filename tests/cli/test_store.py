"""`firstlight store` says what it did, in words and for machines."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import firstlight
from tests.storage.test_upkeep import fill

from firstlight.storage.schema import MIGRATIONS


def test_check_compact_export_merge(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        fill(tmp_path / name / "store.sqlite")
    said = firstlight("store", "check", "one", folder=tmp_path).stdout
    assert "no damage found" in said
    assert "scores: 1 failed, 299 ok" in said
    found = json.loads(firstlight("store", "check", "one", "--json", folder=tmp_path).stdout)
    assert (found["ok"], found["schema"], found["rows"]["scores"]) == (True, len(MIGRATIONS), 300)
    assert "MB now" in firstlight("store", "compact", "one", folder=tmp_path).stdout
    said = firstlight("store", "export", "one", "rows.csv", folder=tmp_path).stdout
    assert said == "300 scores written to rows.csv.\n"
    said = firstlight("store", "merge", "all.sqlite", "one", "two", folder=tmp_path).stdout.splitlines()
    assert "300 scores, 1 evaluations, 1 runs, 1 trials added to all.sqlite" in said[0]
    assert "0 scores, 0 evaluations, 0 runs, 0 trials added to all.sqlite" in said[1]


def test_what_is_wrong_with_a_store(tmp_path: Path) -> None:
    assert "There is no store" in firstlight("store", "check", "nowhere.sqlite", folder=tmp_path, code=1).stderr
    path = tmp_path / "store.sqlite"
    fill(path)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : 9 * 4096] = b"\xff" * (4 * 4096)
    path.write_bytes(content)
    said = firstlight("store", "check", str(path), code=1).stdout
    assert "DAMAGED" in said
    assert "Restore a backup if you have one." in said
