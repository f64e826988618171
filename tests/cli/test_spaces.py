"""`firstlight spaces` and `firstlight show`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import firstlight

from firstlight.spaces import SPACES

CELL = "conv3x3~0|maxpool3x3~0,1|output~1,2"


def run(*arguments: str) -> str:
    return firstlight(*arguments, columns=400).stdout  # so that nothing is broken into lines


def test_all_spaces_are_listed() -> None:
    listed = run("spaces")
    assert all(name in listed for name in SPACES)
    assert {entry["name"] for entry in json.loads(run("spaces", "--json"))} == set(SPACES)


@pytest.mark.parametrize("name", SPACES)
def test_all_about_one_space(name: str) -> None:
    told = json.loads(run("spaces", name, "--samples", "3", "--json"))
    assert told["name"] == name
    assert told["citation"] != told["reference"]
    assert 0 < told["params"]["lowest"] <= told["params"]["median"] <= told["params"]["highest"]
    example = SPACES[name].parse(told["example"])
    assert told["drawing"]["nodes"] == list(SPACES[name].drawing(example).nodes)  # type: ignore[union-attr]


def test_one_space_in_words() -> None:
    told = run("spaces", "nasbench201", "--samples", "5", "--skeleton", "channels=4,cells=1")
    assert "15,625 architectures" in told
    for words in ("channels=4", "(5 random networks)", "NATS-Bench", "Dextr", "Example: |", "●"):
        assert words in told


def test_ranges_are_those_of_the_skeleton() -> None:
    usual, small = (
        json.loads(run("spaces", "nasbench201", "--samples", "5", "--json", *more))
        for more in ([], ["--skeleton", "channels=4,cells=1"])
    )
    assert usual["example"] == small["example"]
    assert small["params"]["highest"] < usual["params"]["lowest"] * 4
    assert small["skeleton"]["channels"] == 4


def test_an_unknown_space_is_refused() -> None:
    assert "nasbench201" in firstlight("spaces", "nasbench2001", code=1).stderr


def test_show_draws_in_the_terminal_and_into_a_file(tmp_path: Path) -> None:
    picture = tmp_path / "cell.svg"
    shown = run("show", "nasbench101", CELL, "-o", str(picture))
    assert CELL in shown
    assert "3,207,690 parameters" in shown
    assert "╰─┼─╮" in shown
    assert "maxpool3x3" in picture.read_text(encoding="utf-8")


def test_show_writes_a_page_that_folds_and_unfolds(tmp_path: Path) -> None:
    page = tmp_path / "network.html"
    shown = run("show", "nats-sss", "8:16:16:32:32", "--html", str(page))
    assert f"Page: {page}" in shown
    text = page.read_text(encoding="utf-8")
    stages = json.loads(run("show", "nats-sss", "8:16:16:32:32", "--json"))["stages"]
    assert [stage["resolution"] for stage in stages] == ["32x32", "16x16", "8x8", "vector"]
    assert text.count("<details>") == len(stages)
    assert text.count("<tr><td>") == sum(len(stage["layers"]) for stage in stages)
    assert all(stage["resolution"] in shown for stage in stages)
    assert "cannot be written" in firstlight("show", "nats-sss", "8:8:8:8:8", "--html", str(tmp_path), code=1).stderr


def test_show_names_what_computes_the_same() -> None:
    idle = "conv3x3~0|conv1x1~|output~1"
    assert "computes the same function as conv3x3~0|output~1" in run("show", "nasbench101", idle)
    told = json.loads(run("show", "nasbench101", idle, "--json"))
    assert (told["architecture"], told["canonical"]) == (idle, "conv3x3~0|output~1")
    assert told["drawing"]["nodes"] == ["input", "conv3x3", "output"]


def test_show_of_a_space_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "of_mine.py").write_text(
        "import firstlight\nfrom torch import nn\n\n"
        "@firstlight.choices(width=(4, 8))\n"
        "def mine(width):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(3072, width), nn.Linear(width, 10))\n"
    )
    shown = firstlight("show", "of_mine:mine", "width=8", folder=tmp_path).stdout
    assert "24,674 parameters" in shown
    assert "2 architectures" in firstlight("spaces", "of_mine:mine", "--samples", "2", folder=tmp_path).stdout
    refused = firstlight("show", "of_mine:mine", "width=8", "-o", "cell.svg", folder=tmp_path, code=1)
    assert "does not draw" in refused.stderr


def test_show_refuses_what_it_cannot_read_or_write(tmp_path: Path) -> None:
    unreadable = firstlight("show", "nasbench101", "conv3x3~1|output~1", code=1).stderr
    assert re.search(r"\nAn architecture of nasbench101 looks like .*\|output~", unreadable)
    assert ".svg" in firstlight("show", "nasbench101", CELL, "-o", str(tmp_path / "cell.bmp"), code=1).stderr
