"""Rows of tables for categories; the plain twin of the whole preparation is in test_prepare."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.data.clicks import categories
from firstlight.data.clicks.categories import Hashed, Vocabulary

codes = st.integers(0, 6) | st.integers(0, 2**64 - 1)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)[:, None]


@given(st.lists(codes, max_size=40), st.integers(2, 2**24))
def test_hashing_is_the_remainder_and_row_0_is_for_missing_ones(values: list[int], rows: int) -> None:
    hashed = Hashed(1, rows)
    found = hashed.rows(column(values), np.zeros((len(values), 1), dtype=bool))
    assert found[:, 0].tolist() == [value % (rows - 1) + 1 for value in values]
    assert not hashed.rows(column(values), np.ones((len(values), 1), dtype=bool)).any()


@given(st.lists(st.lists(codes, max_size=20), max_size=6), st.lists(codes, max_size=20), st.integers(1, 3))
def test_a_vocabulary_is_what_a_counter_counts(seen: list[list[int]], asked: list[int], min_count: int) -> None:
    vocabulary = Vocabulary(1, min_count)
    for values in seen:
        vocabulary.learn(column(values), np.zeros((len(values), 1), dtype=bool))
    vocabulary.close()
    counts = Counter(value for values in seen for value in values)
    known = sorted((value for value, count in counts.items() if count >= min_count), key=lambda v: (-counts[v], v))
    expected = {value: place for place, value in enumerate(known, 2)}
    found = vocabulary.rows(column(asked), np.zeros((len(asked), 1), dtype=bool))
    assert found[:, 0].tolist() == [expected.get(value, 1) for value in asked]
    assert vocabulary.tables == (len(known) + 2,)


def test_counts_are_merged_while_there_are_many() -> None:
    counts = categories._Counts()
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**62, 1_000_000, dtype=np.uint64) >> rng.integers(0, 60, 1_000_000, dtype=np.uint64)
    for portion in np.array_split(drawn, 9):
        counts.add(portion)
    numbers, times = counts.total()
    expected, often = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(times, often)


def test_missing_categories_are_not_learned() -> None:
    vocabulary = Vocabulary(2, 1)
    vocabulary.learn(np.array([[5, 5], [5, 6]], dtype=np.uint64), np.array([[False, True], [False, False]]))
    vocabulary.close()
    assert vocabulary.tables == (3, 3)
    found = vocabulary.rows(np.array([[5, 5], [9, 6]], dtype=np.uint64), np.array([[False, False], [True, False]]))
    assert found.tolist() == [[2, 1], [0, 2]]


def test_a_table_ends_where_floats_cannot_count_on(monkeypatch: pytest.MonkeyPatch) -> None:
    last = categories.LARGEST_TABLE - 1
    assert int(np.float32(last)) == last
    assert int(np.float32(last + 2)) != last + 2
    monkeypatch.setattr(categories, "LARGEST_TABLE", 4)
    vocabulary = Vocabulary(1, 1)
    vocabulary.learn(column([1, 2, 2, 3, 3, 3]), np.zeros((6, 1), dtype=bool))
    vocabulary.close()
    assert vocabulary.tables == (4,)
    assert vocabulary.rows(column([3, 2, 1, 0]), np.zeros((4, 1), dtype=bool))[:, 0].tolist() == [2, 3, 1, 1]
