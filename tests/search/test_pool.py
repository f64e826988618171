"""The networks of a search, in arrays: the same order as by hand, however they came."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.probe.cost import Cost
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Criterion, parse_criterion, utilities
from firstlight.search.objective import best_first
from firstlight.search.pool import Pool

CRITERIA = list(map(parse_criterion, ("params", "log_rank(params,macs*2)", "rank_mean(params,macs)")))
values = st.one_of(st.none(), st.integers(-3, 3).map(float))


def network(text: str, *own: float | None) -> NetworkScore:
    scores = (Score(value) if value is not None else Score.without_value("failed", "no") for value in own)
    return NetworkScore(text, dict(zip(("params", "macs"), scores, strict=True)), Cost(1, 1))


@settings(deadline=None)
@given(st.lists(st.tuples(values, values), max_size=150), st.sampled_from(CRITERIA), st.randoms(use_true_random=False))
def test_it_orders_as_the_plain_way_does(
    rows: list[tuple[float | None, float | None]], by: Criterion, rng: random.Random
) -> None:
    networks = [network(f"n{number:03}", *row) for number, row in enumerate(rows)]
    pool = Pool(by)
    for known in rng.sample(networks, len(networks)):
        pool.add(known)
        pool.utilities()  # what was asked for before must not stay
    expected = best_first(by, networks)
    assert pool.best() == [candidate.network.architecture for candidate in expected]
    for count in (0, 1, 3, len(rows), len(rows) + 5):
        assert pool.best(count) == pool.best()[:count]
    plain = dict(zip((known.architecture for known in networks), utilities(by, networks), strict=True))
    assert pool.utilities() == plain


def test_a_network_that_comes_again_counts_once() -> None:
    pool = Pool(CRITERIA[0])
    pool.add(network("a", 1.0, 1.0))
    pool.add(network("b", 2.0, 1.0))
    pool.add(network("a", 3.0, 1.0))
    assert len(pool) == 2
    assert pool.best() == ["a", "b"]
    assert pool.utilities_of(["b", "a"]).tolist() == [2.0, 3.0]
    assert pool.utility("a") == 3.0
    with pytest.raises(KeyError):
        pool.utility("c")
