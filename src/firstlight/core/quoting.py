"""Quoting of commands for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

# Characters with a meaning between double quotes
SPECIAL_IN_DOUBLE_QUOTES = frozenset('"$`\\!')


def quoted(word: str) -> str:
    """Quote a word; in double quotes if it contains single ones, as genotypes do, where escapes are hard to read."""
    if "'" in word and not SPECIAL_IN_DOUBLE_QUOTES & set(word):
        return f'"{word}"'
    return shlex.quote(word)


def joined(words: Iterable[str]) -> str:
    """Return a command of these words."""
    return " ".join(map(quoted, words))
