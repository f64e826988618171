"""The split into parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.clicks.logs import part

from firstlight.core.errors import SettingError
from firstlight.data.clicks.parts import PARTS, check_split, part_of

SPLIT = (0.8, 0.1, 0.1)


@given(st.integers(0, 2**40), st.integers(1, 50), st.integers(-(2**60), 2**60))
def test_a_row_is_in_the_part_that_its_number_says(first: int, count: int, seed: int) -> None:
    found = [PARTS[place] for place in part_of(first, count, SPLIT, seed)]
    assert found == [part(row, seed) for row in range(first, first + count)]


def test_parts_have_their_shares_and_follow_the_seed() -> None:
    drawn = part_of(0, 100_000, SPLIT, 0)
    shares = np.bincount(drawn) / len(drawn)
    np.testing.assert_allclose(shares, SPLIT, atol=4 * 0.4 / 100_000**0.5)
    other = part_of(0, 100_000, SPLIT, 1)
    agreement = (drawn == other).mean()
    assert abs(agreement - 0.66) < 0.01  # as of two independent draws: .8 .8 + .1 .1 + .1 .1


@pytest.mark.parametrize(
    "split", [(0.8, 0.2), (0.8, 0.1, 0.2), (-0.1, 0.6, 0.5), (0, 0.5, 0.5), (float("nan"), 0.5, 0.5)]
)
def test_splits_that_make_no_sense(split: tuple[float, ...]) -> None:
    with pytest.raises(SettingError, match=r"such as 0\.8,0\.1,0\.1"):
        check_split(split)


def test_parts_may_have_no_share() -> None:
    check_split((1.0, 0.0, 0.0))
    assert set(part_of(0, 10_000, (0.5, 0.5, 0.0), 0)) == {0, 1}
