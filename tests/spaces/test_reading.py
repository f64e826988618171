"""Text is read exactly, and errors point at the place."""

from __future__ import annotations

import pytest

from firstlight.core.errors import ParseError
from firstlight.spaces.reading import Reader


def test_the_longest_option_is_taken() -> None:
    reader = Reader("  3.5x\n")
    assert reader.one_of(("3", "3.5", "4"), "a number") == "3.5"
    reader.skip("x")
    assert reader.at_end
    reader.end()


def test_whatever_else_is_there_is_refused_with_its_place() -> None:
    reader = Reader("ab")
    reader.skip("a")
    with pytest.raises(ParseError, match="expected 'c' at character 2"):
        reader.skip("c")
    with pytest.raises(ParseError, match="expected a letter at character 2"):
        reader.one_of(("c", "d"), "a letter")
    with pytest.raises(ParseError, match="expected the end of the text at character 2"):
        reader.end()
