"""Reads the text of an architecture from left to right, and points at the first place that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from firstlight.errors import ParseError

_DIGITS = re.compile("0|[1-9][0-9]{0,8}")  # not \d, which also takes the digits of other scripts


class Reader:
    """A text and a place in it; every `read` or `take` moves the place or raises `ParseError`."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.position = 0

    def fail(self, expected: str, position: int | None = None) -> NoReturn:
        raise ParseError(self.text, self.position if position is None else position, expected)

    def at(self, literal: str) -> bool:
        return self.text.startswith(literal, self.position)

    def take(self, literal: str) -> None:
        if not self.at(literal):
            self.fail(repr(literal))
        self.position += len(literal)

    def read_name(self, names: Iterable[str]) -> str:
        """One of `names`; the longest of those that fit."""
        fitting = [name for name in names if self.at(name)]
        if not fitting:
            self.fail(f"one of {', '.join(names)}")
        name = max(fitting, key=len)
        self.position += len(name)
        return name

    def read_number(self, allowed: range, what: str) -> int:
        """A number in `allowed`, written as Python writes it."""
        digits = _DIGITS.match(self.text, self.position)
        if not digits or int(digits[0]) not in allowed:
            one = len(allowed) == 1
            self.fail(f"{what} {allowed[0]}" if one else f"{what} of {', '.join(map(str, allowed))}")
        self.position = digits.end()
        return int(digits[0])

    def skip_blanks(self) -> None:
        while self.at(" "):
            self.position += 1

    def end(self) -> None:
        if self.position < len(self.text):
            self.fail("the end of the text")
