"""A reader for texts of architectures, with errors that point at the wrong position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from firstlight.core.errors import ParseError

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")  # not \d, which also matches digits of other scripts
LONGEST_LIST = 16  # ranges with more numbers are told by their ends


class Reader:
    """Reads a text from left to right. Methods raise `ParseError` if the text is not as expected."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)

    def fail(self, expected: str, position: int | None = None) -> NoReturn:
        raise ParseError(self.text, self.position if position is None else position, expected)

    def at(self, literal: str) -> bool:
        return self.text.startswith(literal, self.position)

    def skip(self, literal: str) -> None:
        if not self.at(literal):
            self.fail(repr(literal))
        self.position += len(literal)

    def skip_blanks(self) -> None:
        while self.at(" "):
            self.position += 1

    def one_of(self, options: Iterable[str], expected: str | None = None) -> str:
        """Read the longest option that matches."""
        found = [option for option in options if self.at(option)]
        if not found:
            self.fail(expected or f"one of {', '.join(options)}")
        longest = max(found, key=len)
        self.position += len(longest)
        return longest

    def number(self, allowed: Sequence[int], what: str) -> int:
        """Read one of the allowed numbers, without leading zeros."""
        digits = _NUMBER.match(self.text, self.position)
        if not digits or int(digits[0]) not in allowed:
            self.fail(f"{what} of {_listed(allowed)}")
        self.position = digits.end()
        return int(digits[0])

    def end(self, expected: str = "the end of the text") -> None:
        if not self.at_end:
            self.fail(expected)


def _listed(numbers: Sequence[int]) -> str:
    if isinstance(numbers, range) and len(numbers) > LONGEST_LIST:
        steps = f" in steps of {numbers.step}" if numbers.step > 1 else ""
        return f"{numbers[0]} to {numbers[-1]}{steps}"
    return ", ".join(map(str, numbers))
