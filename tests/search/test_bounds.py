"""The objective of HNAS in its three forms, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.core.errors import UnknownNameError
from firstlight.search.bounds import Bound, Candidates, OfficialBound, PaperBound, RankBound, best_first, bound_of

M = np.array([1.0, 2.0, 4.0, 8.0])
KAPPA = np.array([10.0, 2.0, 80.0, 16.0])
CANDIDATES = Candidates(["a", "b", "c", "d"], M, KAPPA)
ALL: list[Bound] = [PaperBound(8.0), OfficialBound(8.0), RankBound()]


def test_equation_7_by_hand() -> None:
    # nu = 0.25 * 8^2 = 16, mu = 0.01: (M^2 - 16)^2 / 100 + kappa / M is 2.25 + 10, 1.44 + 1, 0 + 20 and 23.04 + 2
    assert PaperBound(8.0).values(CANDIDATES, 0.25, -2) == pytest.approx([12.25, 2.44, 20, 25.04], rel=1e-5)
    assert best_first(PaperBound(8.0), CANDIDATES, 0.25, -2) == ["b", "a", "c", "d"]


def test_the_published_code_by_hand() -> None:
    # nu = 0.5 * 8 = 4, mu = 0.1: |M^2 - 16| / 10 + kappa / M is 11.5, 2.2, 20 and 6.8
    assert OfficialBound(8.0).values(CANDIDATES, 0.5, -1) == pytest.approx([11.5, 2.2, 20, 6.8], rel=1e-5)
    assert best_first(OfficialBound(8.0), CANDIDATES, 0.5, -1) == ["b", "d", "a", "c"]


def test_the_bound_of_ranks_by_hand() -> None:
    # R(M) is 0, 1/3, 2/3, 1; kappa / M is 10, 1, 20, 2, so that R of it is 2/3, 0, 1, 1/3
    # u = 1, c = -2: |R(M) - 1| + R(kappa / M) is 5/3, 2/3, 4/3, 1/3
    assert best_first(RankBound(), CANDIDATES, 1.0, -2) == ["d", "b", "c", "a"]
    # c = 0 counts the distance ten times
    assert best_first(RankBound(), CANDIDATES, 0.0, 0) == ["a", "b", "c", "d"]


@given(st.floats(0.1, 1e6), st.floats(0, 1), st.floats(-4, 0))
def test_ranks_do_not_depend_on_the_scale(factor: float, u: float, exponent: float) -> None:
    scaled = Candidates(CANDIDATES.texts, M * factor, KAPPA * factor)
    assert best_first(RankBound(), scaled, u, exponent) == best_first(RankBound(), CANDIDATES, u, exponent)


@given(st.floats(0.01, 100), st.floats(0, 1), st.floats(-4, 0))
def test_both_formulas_are_lowest_for_an_m_at_nu(scale: float, u: float, exponent: float) -> None:
    """Without kappa, the network whose M is that of nu is the best, however large mu is."""
    at_nu = {PaperBound(scale): scale * math.sqrt(u), OfficialBound(scale): scale * u}
    for bound, target in at_nu.items():
        others = Candidates(["x", "y", "z"], np.array([target, target + scale, target + 2 * scale]), np.zeros(3))
        assert bound.values(others, u, exponent)[0] == pytest.approx(0, abs=1e-9 * scale**4 + 1e-9)
        assert best_first(bound, others, u, exponent) == ["x", "y", "z"]


@pytest.mark.parametrize("bound", ALL, ids=lambda bound: type(bound).__name__)
def test_an_infinite_condition_number_comes_last(bound: Bound) -> None:
    useless = replace(CANDIDATES, kappa=np.array([1, math.inf, 1, 1]))
    assert best_first(bound, useless, 0.0, -4)[-1] == "b"


@pytest.mark.parametrize("bound", ALL, ids=lambda bound: type(bound).__name__)
def test_equals_are_told_apart_by_their_text(bound: Bound) -> None:
    assert best_first(bound, Candidates(["b", "a"], np.ones(2), np.ones(2)), 0.3, -1) == ["a", "b"]


def test_the_usual_scale_is_the_95th_percentile() -> None:
    assert Candidates([""] * 101, np.arange(101.0), np.ones(101)).usual_scale == 95


def test_a_form_by_its_name() -> None:
    assert [bound_of("paper", 3.0), bound_of("official", 3.0), bound_of("rank", 3.0)] == [
        PaperBound(3.0),
        OfficialBound(3.0),
        RankBound(),
    ]
    with pytest.raises(UnknownNameError, match="raw"):
        bound_of("raw", 1.0)  # type: ignore[arg-type]


def test_more_candidates() -> None:
    more = CANDIDATES.with_more(Candidates(["e"], np.array([3.0]), np.array([6.0])))
    assert list(more.texts) == ["a", "b", "c", "d", "e"]
    assert more.ratio[-1] == pytest.approx(2, rel=1e-5)
