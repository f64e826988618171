"""HNAS: which network a pair of numbers stands for, and what is learned from its answer."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.toy_truth import a_truth
from tests.search.guided import guided

from firstlight.core.errors import SettingError
from firstlight.search.algorithms.hnas import Candidates, PaperBound, RankBound

M = np.array([1.0, 2.0, 4.0, 8.0])
KAPPA = np.array([10.0, 2.0, 80.0, 16.0])
CANDIDATES = Candidates(["a", "b", "c", "d"], M, KAPPA)


def test_the_papers_bound_by_hand() -> None:
    # nu = 0.5 * 8 = 4, mu = 0.1: |M^2 - 16| / 10 + kappa / M is 11.5, 2.2, 20 and 6.8
    assert PaperBound(CANDIDATES, 8.0).order(0.5, -1) == ["b", "d", "a", "c"]


def test_the_bound_of_ranks_by_hand() -> None:
    # R(M) is 0, 1/3, 2/3, 1; kappa / M is 10, 1, 20, 2, so that R of it is 2/3, 0, 1, 1/3
    # u = 1, c = -2: |R(M) - 1| + R(kappa / M) is 5/3, 2/3, 4/3, 1/3
    assert RankBound(CANDIDATES).order(1.0, -2) == ["d", "b", "c", "a"]
    # c = 0 counts the distance ten times
    assert RankBound(CANDIDATES).order(0.0, 0) == ["a", "b", "c", "d"]


@given(st.floats(0.1, 1e6), st.floats(0, 1), st.floats(-4, 0))
def test_ranks_do_not_depend_on_the_scale(factor: float, u: float, exponent: float) -> None:
    scaled = Candidates(CANDIDATES.texts, M * factor, KAPPA * factor)
    assert RankBound(scaled).order(u, exponent) == RankBound(CANDIDATES).order(u, exponent)


@pytest.mark.parametrize("bound", [PaperBound(replace(CANDIDATES, kappa=np.array([1, math.inf, 1, 1])), 8.0)])
def test_an_infinite_condition_number_comes_last(bound: PaperBound) -> None:
    assert bound.order(0.0, -4)[-1] == "b"


def test_equals_are_told_apart_by_their_text() -> None:
    same = Candidates(["b", "a"], np.ones(2), np.ones(2))
    assert RankBound(same).order(0.3, -1) == PaperBound(same, 1.0).order(0.3, -1) == ["a", "b"]


def test_the_usual_scale_is_the_95th_percentile() -> None:
    assert Candidates([""] * 101, np.arange(101.0), np.ones(101)).usual_scale == 95


@pytest.mark.parametrize("form", ["rank", "paper", "paper:scale=1e6"])
def test_every_query_is_another_network_of_the_pool(form: str) -> None:
    problem, asked = guided(f"hnas:metric=params:pool=12:form={form}", 8)
    found = problem.findings
    assert len(set(asked)) == len(asked) == problem.scored == 8
    assert [answer["architecture"] for answer in found["answers"]] == asked
    assert [answer["u"] for answer in found["answers"]][:2] == [0, 1]  # a quarter of the queries, at the middle of c
    assert {answer["exponent"] for answer in found["answers"][:2]} == {-2.0}
    assert all(0 <= answer["u"] <= 1 and -4 <= answer["exponent"] <= 0 for answer in found["answers"])
    assert np.isfinite(found["surface"]).all()


def test_it_is_the_same_for_the_same_seed() -> None:
    text = "hnas:metric=params:pool=8"
    assert guided(text, 5)[1] == guided(text, 5)[1]


def test_more_queries_than_networks_ask_about_all() -> None:
    few = dict(random.Random(0).sample(sorted(a_truth().figures["toy_val_40"].items()), 5))
    problem, asked = guided("hnas:metric=params:probes=4", 8, truth=replace(a_truth(), figures={"toy_val_40": few}))
    assert sorted(asked) == sorted(few)
    assert any("The pool has only 5 networks for 8 queries" in note for note in problem.notes)


def test_answers_that_are_all_the_same() -> None:
    same = dict.fromkeys(a_truth().figures["toy_val_40"], 10.0)
    problem, asked = guided("hnas:metric=params:pool=8", 4, truth=replace(a_truth(), figures={"toy_val_40": same}))
    assert len(asked) == 4
    assert problem.pool.utilities() == dict.fromkeys(asked, 10.0)


def test_several_at_a_time() -> None:
    _, asked = guided("hnas:metric=params:pool=12:together=3:probes=2", 8)
    assert len(set(asked)) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hnas:metric=ntk_condition", "lower is better"),
        ("hnas:metric=params:lowest=1:pool=8", "lowest is 1 and highest 0"),
        ("hnas:form=raw", "allowed: rank, paper"),
        ("hnas:acquisition=pi", "allowed: ei, ucb"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        guided(text)
