"""Messages say what was given, what is allowed and what to do."""

from __future__ import annotations

from firstlight.errors import ParseError, UnknownNameError


def test_the_nearest_name_is_suggested_only_if_it_is_near() -> None:
    assert "Did you mean 'dextr'?" in str(UnknownNameError("proxy", "dextrr", ["params", "dextr"]))
    far = str(UnknownNameError("proxy", "zzz", ["params", "dextr"]))
    assert "Did you mean" not in far
    assert "Known: dextr, params." in far


def test_a_parse_error_points() -> None:
    assert str(ParseError("abc", 2, "'x'")).splitlines()[1:] == ["  abc", "    ^"]
    assert str(ParseError("abc", 2, "'x'", "It looks like abx")).splitlines()[3:] == ["It looks like abx"]
