"""Words of commands, as one types them into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

# What means something to a shell between double quotes
SPECIAL_IN_DOUBLE_QUOTES = frozenset('"$`\\!')


def quoted(word: str) -> str:
    """In double quotes if there are single ones inside, as in genotypes, where escapes would hide the text."""
    if "'" in word and not SPECIAL_IN_DOUBLE_QUOTES & set(word):
        return f'"{word}"'
    return shlex.quote(word)


def joined(words: Iterable[str]) -> str:
    return " ".join(map(quoted, words))
