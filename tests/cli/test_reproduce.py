"""`firstlight reproduce` from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import firstlight
from tests.papers.toy import write_tables

from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import CORRELATION, SCORE, SHARE, SPREAD

SMALL = ["--skeleton", "channels=4,cells=1,input_shape=3x8x8", "--workers", "0", "--samples", "12"]


def run(*arguments: str) -> str:
    return firstlight("reproduce", *arguments).stdout


def test_the_listing_says_what_runs_and_what_is_missing(tmp_path: Path) -> None:
    shown = run("--data", str(write_tables(tmp_path)))
    assert "dextr-table1" in shown
    assert "Missing for the other experiments:" in shown
    entries = {entry["name"]: entry for entry in json.loads(run("--data", str(tmp_path), "--json"))}
    assert entries["dextr-table4"]["runs"] == "yes"
    assert entries["dextr-table1"]["runs"] == "in part"
    assert entries["nasi-table3"]["runs"] == "not yet"
    assert "NB101" in entries["dextr-table1"]["missing"]
    nowhere = {entry["name"]: entry for entry in json.loads(run("--data", str(tmp_path.parent), "--json"))}
    assert "firstlight table import nats" in nowhere["dextr-table4"]["missing"]["NB201 CIFAR-10"]


def test_a_table_for_people_and_json_for_machines(tmp_path: Path) -> None:
    asked = [
        "hnas-table2",
        "--seed",
        "0,1",
        "--data",
        str(write_tables(tmp_path / "data")),
        "--out",
        str(tmp_path / "out"),
        *SMALL,
    ]
    shown = run(*asked)
    for expected in (
        "HNAS Table 2",
        "NASNet",
        "verdict",
        "widened by 0 (count), 3 (kappa or M)",
        "input: synthetic",
        "not the paper's",
    ):
        assert expected in shown
    content = json.loads(run(*asked, "--json"))
    assert content["experiment"] == "hnas-table2"
    assert [finding["published"] for finding in content["findings"]][:4] == [[5] * 2, [2] * 2, [31] * 2, [118] * 2]
    assert content["settings"]["seeds"] == "0, 1"
    assert (tmp_path / "out" / "hnas-table2.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dextr-table9"], "dextr-table1"),
        (["nasi-table3"], "cannot run yet"),
        (["hnas-table4", "--seed", "one"], "Write a whole number"),
        (["hnas-table4", "--data", "nowhere"], "no folder nowhere"),
    ],
)
def test_what_cannot_be_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_DATA", str(write_tables(tmp_path)))
    assert message in firstlight("reproduce", *arguments, "--out", str(tmp_path / "out"), code=1).stderr


def test_the_page_tells_of_all_experiments_and_of_the_rule() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == set(EXPERIMENTS)
    for scale in (CORRELATION, SHARE, SCORE, SPREAD):
        assert f"| {scale.name} | {scale.tolerance:g} | {scale.widest:.2f} |" in page
