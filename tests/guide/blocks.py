"""The code that README.md and the guide show: found in the pages, and run as a reader would, but with small sizes."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.cli.command import firstlight as run_command

import firstlight
from firstlight.cli import app

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>bash|python)\n(?P<code>.*?)^```$", re.M | re.S)
MARK = re.compile(r"(?P<kind>checked, not run|not run|not run here|file): (?P<text>.+)")

# What a command is given besides, or instead
ALWAYS = {
    command: ["--workers", "0"] for command in ("score", "rank", "search", "correlate", "trust", "compare", "reproduce")
}
ALWAYS["spaces"] = ["--samples", "3"]
ALWAYS["train"] = ["--epochs", "1", "--data-samples", "100"]
SMALLER = {
    "--samples": "4",
    "--queries": "3",
    "--rows": "3000",
    "--top": "2",
}
SMALL_NETWORKS = ["--skeleton", "channels=4,cells=1"]
# What the calls of the same name in Python are given
SMALL_CALLS: dict[str, dict[str, Any]] = {
    "search": {"samples": 4, "workers": 0, "skeleton": {"channels": 4, "cells": 1}},
    "rank": {"samples": 4, "workers": 0, "skeleton": {"channels": 4, "cells": 1}},
    "compare": {"queries": (3, 5), "seeds": 2},
}


@dataclass(frozen=True)
class Block:
    """A piece of code of a page; `kind` is what is done with it, and `text` why, or under which name it is saved."""

    language: str
    code: str
    kind: str = "run"
    text: str = ""


def blocks(page: str) -> list[Block]:
    found = []
    for match in BLOCK.finditer(page):
        mark = MARK.fullmatch(match["mark"] or "")
        kind, text = (mark["kind"], mark["text"]) if mark else ("run", "")
        found.append(Block(match["language"], match["code"], kind, text))
    return found


def command_lines(code: str) -> list[list[str]]:
    """The words of each command, without comments, lines that go on put together."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


class Reader:
    """Goes through a page in a folder: what one block makes, the next one finds."""

    def __init__(self, folder: Path, names: dict[str, Any]) -> None:
        self.folder = folder
        self.names = {"__name__": "__main__", **names}

    def follow(self, block: Block) -> None:
        if block.language == "bash" and block.kind != "not run":
            for words in command_lines(block.code):
                if words[0] == "torchrun":  # which starts the command in several processes
                    words = words[words.index("firstlight") :]
                assert words[0] == "firstlight", f"{' '.join(words)}: say above the block why it is not run"
                if block.kind == "run":
                    run_command(*small(words[1:]), folder=self.folder)
                else:
                    read(words[1:])
        elif block.language == "python":
            compile(block.code, "guide", "exec")
            if block.kind == "file":
                (self.folder / block.text).write_text(block.code, encoding="utf-8")
            if block.kind in ("run", "file"):
                self._run(block.code)

    def _run(self, code: str) -> None:
        calls = {name: _smaller(getattr(firstlight, name), limits) for name, limits in SMALL_CALLS.items()}
        known = set(sys.modules)
        with patch.multiple(firstlight, create=True, **calls), patch.object(sys, "path", [str(self.folder), *sys.path]):
            exec(compile(code, "guide", "exec", dont_inherit=True), self.names)
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(self.folder)):
                del sys.modules[name]


def small(words: list[str]) -> list[str]:
    """The same command with little to do."""
    words = [word for word in words if word != "--onnx"]  # slow, and tests/export has it
    words += [] if "--workers" in words else ALWAYS.get(words[0], [])
    words = [re.sub(r":pool=\d+", ":pool=6", word) for word in words]
    for option, size in SMALLER.items():
        if option in words:
            words[words.index(option) + 1] = size
    if words[0] == "search" and "--data" in words and "--retrain" not in words:  # which takes all rows
        words += ALWAYS["train"]
    if words[0] == "search" and not {"--samples", "--data", "--table"} & set(words):
        words += ["--samples", SMALLER["--samples"]]
    if words[0] in ("search", "rank", "score", "show") and "nasbench201" in words and "--skeleton" not in words:
        words += SMALL_NETWORKS
    return words


def read(words: list[str]) -> None:
    """As far as the command line itself goes: the command exists, and so do its options, with values that they take."""
    app.parse_args(words, exit_on_error=False, print_error=False)


def _smaller(call: Any, limits: dict[str, Any]) -> Any:
    def smaller(*arguments: Any, **settings: Any) -> Any:
        for name, limit in limits.items():
            if name == "samples" and name not in settings:
                continue
            if name == "skeleton" and (name in settings or arguments[0] != "nasbench201"):
                continue
            settings[name] = limit
        return call(*arguments, **settings)

    return smaller
