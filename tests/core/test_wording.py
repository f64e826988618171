"""Numbers and names as headlines write them."""

from __future__ import annotations

import pytest

from firstlight.core.wording import compact, counted, enumerated, figure, significant, titled


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        (7, "7"),
        (999, "999"),
        (5_000, "5.0k"),
        (9_960, "10k"),
        (830_426, "830k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_000_000, "1.0M"),
        (83_000_000, "83M"),
        (1.2e9, "1.2G"),
        (2.53, "2.53"),
    ],
)
def test_amounts_have_two_or_three_digits(amount: float, written: str) -> None:
    assert compact(amount) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2.60519, "2.605"),
        (-12.5, "-12.50"),
        (12345.6, "12,346"),
        (1.23456e-7, "1.235e-07"),
        (0.0, "0"),
        (3e12, "3e+12"),
    ],
)
def test_scores_have_four_significant_digits(value: float, written: str) -> None:
    assert significant(value) == written


def test_names_and_counts() -> None:
    assert [titled(name) for name in ("dextr", "l2_norm", "rank_mean(dextr,params)", "NTK")] == [
        "Dextr",
        "l2_norm",
        "rank_mean(dextr,params)",
        "NTK",
    ]
    assert [counted(count, "network") for count in (1, 1000)] == ["1 network", "1,000 networks"]
    assert [enumerated(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("value", "written"), [(None, "-"), (137_418, "137,418"), (8_585_860.0, "8,585,860"), (2.605191, "2.60519")]
)
def test_figures_of_tables(value: float | None, written: str) -> None:
    assert figure(value) == written
