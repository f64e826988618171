"""`firstlight data` as a person and as a machine use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.command import firstlight
from tests.data.clicks import logs

from firstlight.spaces import SPACES

ARCHITECTURE = str(SPACES["nasrec-small"].example())
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command in a folder; what it prints and complains."""

    def called(*arguments: str, code: int = 0) -> tuple[str, str]:
        done = firstlight(*arguments, folder=tmp_path, code=code)
        return done.stdout, done.stderr

    return called


def test_help_explains_with_examples(run: Run) -> None:
    for command in ("prepare", "show", "synthesize"):
        assert f"firstlight data {command} " in run("data", command, "--help")[0]
    assert "Click logs: prepare one" in firstlight("--help").stdout


def test_from_a_made_up_log_to_scores_and_a_search(tmp_path: Path, run: Run) -> None:
    made, _ = run("data", "synthesize", "-o", "log.tsv", "--rows", "2000")
    assert "log.tsv: 2,000 rows" in made
    assert "firstlight data prepare criteo log.tsv -o log.prepared.parquet" in made
    with (tmp_path / "log.tsv").open("a") as log:
        log.write("0\tbroken\n")
    _, complaint = run("data", "prepare", "criteo", "log.tsv", "-o", "clicks.parquet", code=1)
    assert "line 2,001: 2 columns, expected 40: '0\\tbroken'" in complaint
    assert not (tmp_path / "clicks.parquet").exists()

    asked = ("data", "prepare", "criteo", "log.tsv", "-o", "clicks.parquet", "--bad-rows", "skip", "--min-count", "3")
    done, remarks = run(*asked)
    assert "Skipped 1 row that cannot be read" in remarks
    assert "clicks.parquet: 2,000 rows of the layout criteo" in done
    assert "--input criteo:clicks.parquet" in done
    shown = json.loads(run("data", "show", "clicks.parquet", "--json")[0])
    assert shown["fingerprint"] in done
    assert sum(shown["rows"].values()) == 2000
    assert shown["options"] == {"min_count": 3, "split": [0.8, 0.1, 0.1], "seed": 0}
    assert shown["bad_rows"]["count"] == 1
    assert json.loads(run(*asked, "--json")[0]) == shown

    shown_to = ("nasrec-small", "--input", "criteo:clicks.parquet", "--batch-size", "16", "--workers", "0", "--json")
    scores = json.loads(run("score", *shown_to, "--proxy", "zico,sigeo,params", ARCHITECTURE)[0])["scores"]
    assert [scores[name]["status"] for name in ("zico", "sigeo", "params")] == ["ok"] * 3
    found = json.loads(run("search", *shown_to, "--proxy", "sigeo", "--samples", "2", "--out", "run")[0])
    assert found["best"]


def test_columns_of_ones_own(tmp_path: Path, run: Run) -> None:
    logs.write(tmp_path / "log.csv", logs.USUAL)
    named = ("--label", "click", "--numbers", "price,age", "--categories", "site, user", "--hash-rows", "100")
    done, _ = run("data", "prepare", "clicks", "log.csv", "-o", "out.parquet", *named)
    assert "2 numbers, 2 fields of categories, hashed to 100 rows each." in done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prepare", "cretio", "log.csv", "-o", "a.parquet"), "Did you mean 'criteo'"),
        (("prepare", "criteo", "none.csv", "-o", "a.parquet"), "There is no file none.csv"),
        (("prepare", "criteo", "log.csv", "-o", "none/a.parquet"), "there is no folder none"),
        (("prepare", "criteo", "log.csv", "-o", "a.parquet"), "line 1: 5 columns, expected 40"),
        (("prepare", "avazu", "log.csv", "-o", "a.parquet"), "has no column hour, C1, banner_pos"),
        (("prepare", "criteo", "log.csv", "-o", "a.parquet", "--split", "a,b"), "Write three fractions, such as"),
        (("prepare", "clicks", "log.csv", "-o", "a.parquet"), "--label click"),
        (("show", "log.csv"), "firstlight data prepare criteo|avazu|kdd log.csv -o log-prepared.parquet"),
        (("synthesize", "-o", "a.txt", "--rows", "5"), "end in .tsv, .csv or .parquet"),
    ],
)
def test_bad_input_gets_a_clear_error(arguments: tuple[str, ...], message: str, tmp_path: Path, run: Run) -> None:
    logs.write(tmp_path / "log.csv", logs.USUAL)
    printed, complaint = run("data", *arguments, code=1)
    assert message in complaint
    assert printed == ""
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
