"""`firstlight compare` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import firstlight
from tests.evaluation.toy_truth import a_table

from firstlight.tables.table import write_table


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "toy.parquet"
    write_table(a_table(), path)
    return str(path)


def run(*arguments: str) -> str:
    return firstlight("compare", *arguments).stdout


def test_a_table_for_people_and_json_for_machines(table: str, tmp_path: Path) -> None:
    asked = ["transnas-micro", "--table", table, "--methods", "random,evolution", "--queries", "5,15", "--seeds", "2"]
    out = ["--within", "300", "--workers", "0", "--out", str(tmp_path / "out")]
    shown = run(*asked, *out)
    assert "toy_test_40" in shown
    assert "evolution stands for evolution:children=1:population=10:tournament=10." in shown
    assert "Seconds of training: toy_train_seconds_40" in shown
    assert (tmp_path / "out" / "report.html").is_file()
    content = json.loads(run(*asked, *out, "--json"))
    assert [row["after"] for row in content["rows"]] == ["5 queries", "15 queries", "300 s"] * 2
    assert content["target"] == "toy_val_4"


def test_real_training(tmp_path: Path) -> None:
    asked = "nasbench201 --data digits@8 --methods random,bohb --queries 2 --seeds 1 --epochs 1 --fidelities 1,2"
    small = "--skeleton channels=2,cells=1 --data-samples 60 --recipe short:batch_size=16 --workers 0"
    content = json.loads(run(*asked.split(), *small.split(), "--out", str(tmp_path), "--json"))
    assert content["target"] == "digits@8_val_1"
    assert content["seconds"] == "measured"
    assert all(row["seconds"]["mean"] > 0 for row in content["rows"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", "ten"], "not a list of whole numbers"),
        (["--queries", "20,10"], "ascending"),
        (["--methods", "evolutoin"], "Did you mean 'evolution'"),
        (["--target", "toy_vall_4"], "toy_val_4"),
        (["--report", "toy_vall_4"], "toy_val_4"),
        (["--fidelities", "toy_vall_4"], "toy_val_4"),
        (["--seconds", "toy_secs"], "toy_train_seconds_40"),
        (["--data", "digits"], "either a table"),
    ],
)
def test_bad_options_are_explained(table: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    asked = ("compare", "transnas-micro", "--table", table, "--out", str(tmp_path / "out"), "--workers", "0")
    assert message in firstlight(*asked, *arguments, code=1).stderr


def test_neither_table_nor_data(tmp_path: Path) -> None:
    assert "--table" in firstlight("compare", "nasbench201", "--out", str(tmp_path), code=1).stderr
