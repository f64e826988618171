"""The best of a pool by one proxy, or by several in turn."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.evaluation.toy_truth import SPACE
from tests.search.guided import SMALL, guided

from firstlight.core.errors import SettingError


def pool(size: int, seed: int = 0) -> list[str]:
    """What a search of this seed draws."""
    problem, _ = guided(f"verify:by=params:pool={size}", 1, seed)
    problem.rng = random.Random(seed)
    return [str(architecture) for architecture in itertools.islice(problem.distinct_samples(), size)]


def params(text: str) -> int:
    return SPACE.cost(SPACE.parse(text), SPACE.skeleton(**dict(SMALL))).params


def macs(text: str) -> int:
    return SPACE.cost(SPACE.parse(text), SPACE.skeleton(**dict(SMALL))).macs


def test_verify_asks_about_the_best_in_order() -> None:
    problem, asked = guided("verify:by=params:pool=30", 5)
    assert asked == sorted(pool(30), key=lambda text: (-params(text), text))[:5]
    assert problem.scored == 5


def test_verify_goes_by_ensembles() -> None:
    _, asked = guided("verify:by=rank_mean(params,macs):pool=30", 1)
    ranked = sorted(pool(30), key=lambda text: (params(text), macs(text)))
    assert asked == [ranked[-1]]


def test_a_portfolio_takes_turns() -> None:
    _, asked = guided("portfolio:by=params+synflow:pool=12", 6)
    by_params = sorted(pool(12), key=lambda text: (-params(text), text))
    _, by_synflow = guided("verify:by=synflow:pool=12", 12)
    expected: list[str] = []
    for place in range(6):
        order = (by_params, by_synflow)[place % 2]
        expected.append(next(text for text in order if text not in expected))
    assert asked == expected


def test_the_seed_draws_the_pool() -> None:
    assert set(pool(20)) != set(pool(20, seed=1))
    assert guided("verify:by=params:pool=20")[1] == guided("verify:by=params:pool=20")[1]


def test_a_pool_smaller_than_the_queries_is_refused() -> None:
    with pytest.raises(SettingError, match=r"smaller than the number of queries, 6.*pool=6 or more"):
        guided("verify:by=params:pool=5", 6)


def test_one_proxy_is_no_portfolio() -> None:
    with pytest.raises(SettingError, match="name two or more proxies"):
        guided("portfolio:by=params")
