"""`firstlight spaces` and `firstlight show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.core.errors import ParseError, SettingError, UnknownNameError
from firstlight.spaces import SPACES
from firstlight.views.console.terminal import console

CELL = "conv3x3~0|maxpool3x3~0,1|output~1,2"


def run(*arguments: str) -> str:
    console.width = 400  # so that nothing is broken into lines
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


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
    for words in ("15,625 architectures", "channels=4", "(5 at random)", "NATS-Bench", "Dextr", "An example: |", "●"):
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
    with pytest.raises(UnknownNameError, match="nasbench201"):
        run("spaces", "nasbench2001")


def test_show_draws_in_the_terminal_and_into_a_file(tmp_path: Path) -> None:
    picture = tmp_path / "cell.svg"
    shown = run("show", "nasbench101", CELL, "-o", str(picture))
    assert CELL in shown
    assert "3,207,690 parameters" in shown
    assert "╰─┼─╮" in shown
    assert "maxpool3x3" in picture.read_text(encoding="utf-8")


def test_show_names_what_computes_the_same() -> None:
    idle = "conv3x3~0|conv1x1~|output~1"
    assert "computes the same as conv3x3~0|output~1" in run("show", "nasbench101", idle)
    told = json.loads(run("show", "nasbench101", idle, "--json"))
    assert (told["architecture"], told["canonical"]) == (idle, "conv3x3~0|output~1")
    assert told["drawing"]["nodes"] == ["input", "conv3x3", "output"]


def test_show_of_a_space_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_mine.py").write_text(
        "import firstlight\nfrom torch import nn\n\n"
        "@firstlight.choices(width=(4, 8))\n"
        "def mine(width):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(3072, width), nn.Linear(width, 10))\n"
    )
    monkeypatch.chdir(tmp_path)
    assert "24,674 parameters" in run("show", "of_mine:mine", "width=8")
    assert "2 architectures" in run("spaces", "of_mine:mine", "--samples", "2")
    with pytest.raises(SettingError, match="no drawing"):
        run("show", "of_mine:mine", "width=8", "-o", "cell.svg")


def test_show_refuses_what_it_cannot_read_or_write(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"\nAn architecture of nasbench101 looks like .*\|output~"):
        run("show", "nasbench101", "conv3x3~1|output~1")
    with pytest.raises(SettingError, match=r"\.svg"):
        run("show", "nasbench101", CELL, "-o", str(tmp_path / "cell.bmp"))
