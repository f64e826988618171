"""Errors: one JSON object on standard output with --json, or a line on standard error; and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import CELL, SMALL, firstlight

USAGE = [
    (("score", "nasbench201", CELL, "--proxi", "params"), "--proxi", "firstlight score --help"),
    (("search", "nasbench201", "--population", "3"), "--population", "firstlight search --help"),
    (("rank", "nasbench201", "--samples", "many"), "--samples", "firstlight rank --help"),
    (("data", "prepare", "criteo"), "PATH", "firstlight data prepare --help"),
    (("rank", "nasbench201", "--seed"), "--seed", "firstlight rank --help"),
    (("serach", "nasbench201"), 'Did you mean "search"', "firstlight --help"),
    (("store", "chekc", "a"), "chekc", "firstlight store --help"),
    (("watch", "runs/a", "--port", "99999"), "--port", "firstlight watch --help"),
]
FAILURES = [
    (("score", "nasbench202", CELL), "unknown-name", "Did you mean 'nasbench201'"),
    (("search", "nasbench201", "--proxy", "dexter"), "unknown-name", "Did you mean 'dextr'"),
    (("search", "nasbench201", "--algorithm", "evolutoin"), "unknown-name", "Did you mean 'evolution'"),
    (("trust", "nasbench201"), "setting", "--data"),
    (("compare", "nasbench201"), "setting", "--table"),
    (("compare", "nasbench201", "--table", "a.csv", "--data", "digits"), "setting", "either a table"),
    (("rank", "nasbench201", "--samples", "2", "--seed", "0,1"), "setting", "this call takes only one"),
    (("rank", "nasbench201", CELL, "--timeout", "3", "--workers", "0"), "setting", "workers is 0"),
    (("search", "nasbench201", "--min-params", "2M", "--max-params", "1M"), "limits", "at least 2,000,000"),
    (("search", "nasbench201", "--settings", "nowhere"), "unknown-name", "plainnet-cifar"),
    (("show", "nasbench201", "|none~0|+"), "parse", "at character"),
    (("table", "show", "nowhere.csv"), "missing-file", "nowhere.csv"),
    (("store", "check", "9" * 5000), "file-name", "too long"),
]


def error_of(*arguments: str, folder: Path, code: int) -> dict[str, Any]:
    """The one JSON object that is printed."""
    done = firstlight(*arguments, "--json", folder=folder, code=code)
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr
    (line,) = done.stdout.splitlines()
    content = json.loads(line)
    assert content.keys() == {"error"}
    assert content["error"].keys() == {"code", "message", "hint"}
    found: dict[str, Any] = content["error"]
    return found


@pytest.mark.parametrize(("arguments", "named", "hint"), USAGE)
def test_usage(arguments: tuple[str, ...], named: str, hint: str, tmp_path: Path) -> None:
    error = error_of(*arguments, folder=tmp_path, code=2)
    assert error["code"] == "usage"
    assert named in error["message"]
    assert error["hint"] == f"See `{hint}`."
    spoken = firstlight(*arguments, folder=tmp_path, code=2)
    assert spoken.stdout == ""
    assert f"Error: {error['message']} [usage]\nSee `{hint}`.\n" in spoken.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("arguments", "code", "message"), FAILURES)
def test_failures(arguments: tuple[str, ...], code: str, message: str, tmp_path: Path) -> None:
    error = error_of(*arguments, folder=tmp_path, code=1)
    assert error["code"] == code
    assert message in error["message"]
    assert error["hint"] or code == "file-name"
    spoken = firstlight(*arguments, folder=tmp_path, code=1)
    assert spoken.stdout == ""
    assert f"Error: {error['message']} [{code}]" in spoken.stderr
    assert not list(tmp_path.iterdir())  # before any work starts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("smaples = 3", "sets 'smaples', which the command does not have"),
        ("[limits]\nmax_parameters = 3", "sets 'max_parameters'"),
        ("samples = 3\nsamples = 4", "cannot be read as settings"),
    ],
)
def test_settings_that_do_not_exist(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(content)
    error = error_of("search", "nasbench201", "--settings", "mine.toml", folder=tmp_path, code=1)
    assert error["code"] == "setting"
    assert message in error["message"]


def test_an_interrupted_command_prints_no_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("firstlight.scoring.service.ScoreService.scores", interrupted)
    done = firstlight("rank", "nasbench201", CELL, "--json", *SMALL, folder=tmp_path, code=130)
    assert done.stdout == ""
    assert done.stderr.endswith("\nInterrupted.\n")
