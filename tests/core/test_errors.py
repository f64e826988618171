"""Messages say what was given, what is allowed and what to do; each kind has a code and an entry about it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.command import firstlight as run

import firstlight.data.clicks.errors
import firstlight.export.tracing  # noqa: F401  both have a kind of their own
from firstlight.core.errors import FirstlightError, ParseError, UnknownNameError

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"


def test_the_nearest_name_is_suggested_only_if_it_is_near() -> None:
    assert "Did you mean 'dextr'?" in str(UnknownNameError("proxy", "dextrr", ["params", "dextr"]))
    far = str(UnknownNameError("proxy", "zzz", ["params", "dextr"]))
    assert "Did you mean" not in far
    assert "Known: dextr, params." in far


def test_a_parse_error_points() -> None:
    assert str(ParseError("abc", 2, "'x'")).splitlines()[1:] == ["  abc", "    ^"]
    assert str(ParseError("abc", 2, "'x'", "It looks like abx")).splitlines()[3:] == ["It looks like abx"]


def kinds(root: type[FirstlightError] = FirstlightError) -> list[type[FirstlightError]]:
    return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]


def test_every_code_has_an_entry_and_every_entry_a_code() -> None:
    entries = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(entries) == {kind.code for kind in kinds()}


def test_codes_are_of_one_kind() -> None:
    own = [kind.code for kind in kinds() if "code" in vars(kind)]
    assert len(own) == len(set(own))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in own)


def test_the_command_prints_the_code_behind_the_message() -> None:
    said = run("proxies", "dextrr", code=1).stderr
    assert said.startswith("Error: There is no proxy or ensemble 'dextrr'. Did you mean 'dextr'?")
    assert said.rstrip().endswith("[unknown-name]")
