"""From categories to rows of embedding tables: by hashing, or by a vocabulary built from the training set."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.data.samples import Array

# Networks get row numbers as 32-bit floats, which represent all integers up to here
LARGEST_TABLE = 1 << 24
PUBLISHED_ROWS = 500_000


class Categories(Protocol):
    """Assigns each category a row of its field's table. Missing categories have row 0."""

    @property
    def tables(self) -> tuple[int, ...]: ...

    def rows(self, codes: Array, missing: Array) -> Array: ...


class Hashed:
    """Tables of equal size: row = code mod (rows - 1) + 1, as in NASRec."""

    def __init__(self, fields: int, rows: int) -> None:
        if not 2 <= rows <= LARGEST_TABLE:
            raise SettingError(f"hash_rows is {rows:,}; it must be 2 to {LARGEST_TABLE:,}.")
        self.tables = (rows,) * fields

    def rows(self, codes: Array, missing: Array) -> Array:
        found = (codes % np.uint64(self.tables[0] - 1)).astype(np.int32) + 1
        return np.where(missing, np.int32(0), found)


class Vocabulary:
    """The categories of each field that occur at least `min_count` times in training rows.

    Row 1 is for all other categories. The others follow from row 2 on, most frequent first, so that frequent categories
    keep rows of their own in networks with smaller tables.
    """

    def __init__(self, fields: int, min_count: int) -> None:
        if min_count < 1:
            raise SettingError(f"min_count is {min_count}; it must be at least 1.")
        self._min_count = min_count
        self._counts = [_Counts() for _ in range(fields)]
        self._known: list[tuple[Array, Array]] = []

    def learn(self, codes: Array, missing: Array) -> None:
        for counts, column, absent in zip(self._counts, codes.T, missing.T, strict=True):
            counts.add(column[~absent])

    def close(self) -> None:
        """Assign the rows; all training rows have been counted."""
        for place, counts in enumerate(self._counts):
            codes, times = counts.total()
            kept = times >= self._min_count
            codes, times = codes[kept], times[kept]
            order = np.argsort(-times, kind="stable")[: LARGEST_TABLE - 2]  # ties go to the smaller code
            rows = np.ones(len(codes), dtype=np.int32)
            rows[order] = np.arange(2, len(order) + 2, dtype=np.int32)
            self._known.append((codes, rows))
            self._counts[place] = _Counts()

    @property
    def tables(self) -> tuple[int, ...]:
        return tuple(min(LARGEST_TABLE, len(codes) + 2) for codes, _ in self._known)

    def rows(self, codes: Array, missing: Array) -> Array:
        found = np.ones(codes.shape, dtype=np.int32)
        for field, (known, rows) in enumerate(self._known):
            if len(known):
                places = np.minimum(np.searchsorted(known, codes[:, field]), len(known) - 1)
                found[:, field] = np.where(known[places] == codes[:, field], rows[places], 1)
        found[missing] = 0
        return found


class _Counts:
    """Counts numbers. Takes 16 bytes per distinct number, and as much again while counting."""

    def __init__(self) -> None:
        self._numbers, self._times = np.empty(0, np.uint64), np.empty(0, np.int64)
        self._waiting: list[tuple[Array, Array]] = []
        self._length = 0

    def add(self, numbers: Array) -> None:
        different, times = np.unique(numbers, return_counts=True)
        self._waiting.append((different, times))
        self._length += len(different)
        if self._length > max(1 << 18, len(self._numbers)):
            self._merge()

    def total(self) -> tuple[Array, Array]:
        self._merge()
        return self._numbers, self._times

    def _merge(self) -> None:
        numbers = np.concatenate([self._numbers, *(numbers for numbers, _ in self._waiting)])
        times = np.concatenate([self._times, *(times for _, times in self._waiting)])
        order = np.argsort(numbers, kind="stable")
        numbers, times = numbers[order], times[order]
        starts = np.flatnonzero(np.r_[len(numbers) > 0, numbers[1:] != numbers[:-1]])
        self._numbers = numbers[starts]
        self._times = np.add.reduceat(times, starts) if len(starts) else times[:0]
        self._waiting, self._length = [], 0
