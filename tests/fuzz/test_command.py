"""Hostile words on the command line: each ends with 0, 1 or 2 and a message, never with a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.cli.command import CELL, SMALL, firstlight
from tests.fuzz.cases import CASES
from tests.fuzz.checking import Target
from tools.pages.commands import commands

from firstlight.storage.store import Store

TINY = [*SMALL, "--proxy", "params"]
HERE = ["--workers", "0"]
# For each command, words that work, of which some are exchanged; what is large is left out, since it is no mistake
COMMANDS: dict[str, list[str]] = {
    "score": ["score", "nasbench201", CELL, *TINY, *HERE],
    "rank": ["rank", "nasbench201", CELL, *TINY, *HERE],
    "search": ["search", "nasbench201", "--samples", "2", "--out", "run", *TINY, *HERE],
    "show": ["show", "nasbench201", CELL, *SMALL],
    "export": ["export", "nasbench201", CELL, "-o", "out", "--format", "json", *SMALL],
    "train": ["train", "nasbench201", CELL, "--data", "missing", "--out", "trained", *SMALL],
    "correlate": ["correlate", "nasbench201", "--table", "table.csv", "--out", "study", *TINY, *HERE],
    "trust": ["trust", "nasbench201", "--data", "missing", "--samples", "2", *TINY, *HERE],
    "fit": ["fit", "missing", "--max-params", "2k", "--time", "1s", "--out", "fitted", *HERE],
    "predict": ["predict", "nasbench201", CELL, "--labels", "table.csv", "--samples", "2", *TINY, *HERE],
    "compare": ["compare", "nasbench201", "--table", "table.csv", "--methods", "random", *HERE],
    "report": ["report", "run"],
    "plot network": ["plot", "network", "nasbench201", CELL, *SMALL, "-o", "network.svg"],
    "plot curves": ["plot", "curves", "run", "-o", "curves.svg"],
    "plot bars": ["plot", "bars", "study", "-o", "bars.svg"],
    "spaces": ["spaces", "nasbench201"],
    "proxies": ["proxies", "dextr"],
    "algorithms": ["algorithms", "evolution"],
    "reproduce": ["reproduce", "missing"],
    "table import": ["table", "import", "nasbench101", "binary.bin", "-o", "imported.csv"],
    "table show": ["table", "show", "table.csv", "--space", "nasbench201"],
    "data prepare": ["data", "prepare", "criteo", "clicks.tsv", "-o", "prepared.parquet", "--hash-rows", "9"],
    "data prepare clicks": [
        *("data", "prepare", "clicks", "clicks.csv", "-o", "named.parquet", "--min-count", "1"),
        *("--label", "click", "--numbers", "price", "--categories", "site"),
    ],
    "data show": ["data", "show", "whole.parquet"],
    "data synthesize": ["data", "synthesize", "-o", "made-up.tsv", "--rows", "3"],
    "device fit": ["device", "fit", "table.csv", "--name", "mine"],
    "device show": ["device", "show", "raspi4"],
    "store check": ["store", "check", "store.sqlite"],
    "store compact": ["store", "compact", "store.sqlite"],
    "store export": ["store", "export", "store.sqlite", "rows.csv", "--table", "scores"],
    "store merge": ["store", "merge", "all.sqlite", "store.sqlite"],
}
HOSTILE = (
    *("", " ", "-1", "0", "1", "2.5", "nan", "inf", "-inf", "1e999", "9" * 5000, "-" + "9" * 5000, "1_0", "True"),
    *("\u00b2", "\u0663", "é", "漢字", "😀", "\udcff", "\x1b[31m", "\u202e", "\n", "%s", "{0}", "a" * 5000, "<script>"),
    *("--", "-", "=", ":", ",", "@", "a=b", "10%", "1k", "[red]", "params", "nasbench201", CELL, "json:loads"),
    *("missing/file", "folder", "binary.bin", "empty.txt", "table.csv", "binary.parquet", "no.such:thing"),
    *("folder:folder", "npz:binary.bin", "clicks:binary.bin"),
)
NOT_TRIED = {"--help", "--workers", "--version"}


def _folder(folder: Path) -> Path:
    """With what a hostile word may name; runs of others are in it as well."""
    here = folder / "here"
    (here / "folder").mkdir(parents=True)
    (here / "binary.bin").write_bytes(bytes(range(256)) * 4)
    (here / "binary.parquet").write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
    (here / "empty.txt").write_text("")
    Store(here / "store.sqlite").close()
    criteo = "\t".join([*["3"] * 13, *["a"] * 26])
    (here / "clicks.tsv").write_text(f"1\t{criteo}\n0\t{criteo}\n" * 20)
    (here / "clicks.csv").write_text("click,price,site\n" + "1,2.5,a\n0,,b\n" * 10)
    firstlight("data", "prepare", "criteo", "clicks.tsv", "-o", "whole.parquet", "--hash-rows", "9", folder=here)
    (here / "table.csv").write_text(f"architecture,cifar10_test_200\n{CELL},90.0\n")
    return here


def _words_of(name: str) -> list[str]:
    """Those that name the command, without what tells two entries of it apart."""
    return [word for word, given in zip(name.split(), COMMANDS[name], strict=False) if word == given]


def _options_of(name: str) -> list[str]:
    known = commands()
    words = _words_of(name)
    command = known.get(" ".join(words[:2])) or known[words[0]]
    arguments = command.assemble_argument_collection()
    return sorted({word for argument in arguments for word in argument.names if word.startswith("-")} - NOT_TRIED)


@st.composite
def words(draw: Any, name: str) -> list[str]:
    """The words of a command with one to three exchanged, or options added, whose values are hostile."""
    given = list(COMMANDS[name])
    options = _options_of(name)
    for _ in range(draw(st.integers(1, 3))):
        value = draw(st.sampled_from(HOSTILE))
        if draw(st.booleans()) or not options:
            place = draw(st.integers(len(_words_of(name)), len(given) - 1))
            if given[place - 1] != "--workers":
                given[place] = value
        else:
            given += [draw(st.sampled_from(options)), *([value] if draw(st.integers(0, 9)) else [])]
    return given


def _run(folder: Path, arguments: list[str]) -> None:
    done = firstlight(*arguments, folder=folder, code=None)
    assert done.code in (0, 1, 2), done
    assert done.code == 0 or (done.stdout + done.stderr).strip(), "it says nothing"
    assert "Traceback" not in done.stdout + done.stderr


def try_out(name: str, folder: Path, cases: int) -> int:
    here = _folder(folder)
    return Target(lambda arguments: _run(here, arguments), words(name)).try_out(cases)


@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_words(name: str, tmp_path: Path) -> None:
    try_out(name, tmp_path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_many_hostile_words(name: str, tmp_path: Path) -> None:
    print(f"firstlight {name}: {try_out(name, tmp_path, CASES)} cases")
