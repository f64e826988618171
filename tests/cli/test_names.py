"""A name of a file is the name of a file, whatever it looks like."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import CELL, firstlight

TABLE = f"architecture,cifar10_test_200\n{CELL},90.0\n"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_name_with_a_colon_is_no_address(tmp_path: Path) -> None:
    (tmp_path / "s3:table.csv").write_text(TABLE)
    assert "1 rows" in firstlight("table", "show", "s3:table.csv", folder=tmp_path).stdout
    missing = firstlight("table", "show", "http://127.0.0.1:9/x.csv", folder=tmp_path, code=1)
    assert "There is no file" in missing.stderr
    firstlight("data", "synthesize", "-o", "s3:log.parquet", "--rows", "50", folder=tmp_path)
    firstlight(
        *("data", "prepare", "criteo", "s3:log.parquet", "-o", "s3:done.parquet", "--hash-rows", "9"), folder=tmp_path
    )
    assert "50 rows" in firstlight("data", "show", "s3:done.parquet", folder=tmp_path).stdout


def test_a_name_that_is_too_long_is_said_to_be(tmp_path: Path) -> None:
    assert "too long" in firstlight("store", "check", "9" * 5000, folder=tmp_path, code=1).stderr
