"""HNAS: which network a pair of numbers stands for, and what is learned from its answer."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.evaluation.toy_truth import a_truth
from tests.search.guided import guided

from firstlight.core.errors import SettingError
from firstlight.search.algorithms.hnas import MeasuredPool
from firstlight.search.guides import draw_more


@pytest.mark.parametrize("form", ["rank", "official", "official:scale=1e6", "paper", "paper:growing=true"])
def test_every_query_is_another_network_of_the_pool(form: str) -> None:
    problem, asked = guided(f"hnas:metric=params:pool=12:form={form}", 8)
    found = problem.findings
    assert len(set(asked)) == len(asked) == problem.scored == 8
    assert [answer["architecture"] for answer in found["answers"]] == asked
    assert [answer["u"] for answer in found["answers"]][:2] == [0, 1]  # a quarter of the queries, at the middle of c
    assert {answer["exponent"] for answer in found["answers"][:2]} == {-2.0}
    assert all(0 <= answer["u"] <= 1 and -4 <= answer["exponent"] <= 0 for answer in found["answers"])
    assert np.isfinite(found["surface"]).all()


@pytest.mark.parametrize("growing", ["false", "true"])
def test_it_is_the_same_for_the_same_seed(growing: str) -> None:
    text = f"hnas:metric=params:pool=8:growing={growing}"
    assert guided(text, 5)[1] == guided(text, 5)[1]


def test_a_growing_pool_brings_fresh_networks_for_each_query() -> None:
    fixed, growing = (guided(f"hnas:metric=params:pool=6:growing={text}", 6)[0].measured for text in ("false", "true"))
    assert fixed == 6
    assert 12 < growing <= 36  # six draws before each of six queries, some of them known


def test_a_growing_pool_measures_each_network_once() -> None:
    problem, _ = guided("hnas:metric=params:pool=6:growing=true", 6)
    pool = MeasuredPool(problem, "params", 8, None)
    texts = draw_more(problem, 40)
    for part in (texts[:20], texts[10:], texts):
        pool.add(part)
    assert list(pool.candidates.texts) == [text for text in texts if text in pool.candidates.texts]
    assert len(set(pool.candidates.texts)) == len(pool.candidates.texts) <= len(texts) == len(set(texts))


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
        ("hnas:form=raw", "allowed: paper, official, rank"),
        ("hnas:acquisition=pi", "allowed: ei, ucb"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        guided(text)
