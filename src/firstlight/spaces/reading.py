"""Reading the text of architectures from left to right, with errors that point at the place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from firstlight.errors import ParseError


class Reader:
    """Knows the text and how far it has been read; what is not exactly as expected is refused."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)

    def fail(self, expected: str) -> NoReturn:
        raise ParseError(self.text, self.position, expected)

    def skip(self, literal: str) -> None:
        if not self.text.startswith(literal, self.position):
            self.fail(repr(literal))
        self.position += len(literal)

    def one_of(self, options: Iterable[str], expected: str) -> str:
        """The longest of the options that the text goes on with."""
        found = [option for option in options if self.text.startswith(option, self.position)]
        if not found:
            self.fail(expected)
        longest = max(found, key=len)
        self.position += len(longest)
        return longest

    def end(self, expected: str = "the end of the text") -> None:
        if not self.at_end:
            self.fail(expected)
