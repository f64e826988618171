"""Limits, amounts and direction."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.core.amounts import parse_amount
from firstlight.core.errors import LimitError, SettingError
from firstlight.options import Limits
from firstlight.probe import Probe
from firstlight.probe.cost import Cost
from firstlight.proxies.base import NetworkScore, Parts, Score, proxy
from firstlight.proxies.ensembles import Ensemble
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.objective import Objective, best_first


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("850000", 850_000),
        ("1.0M", 10**6),
        ("450k", 450_000),
        ("1.2G", 1_200_000_000),
        ("2e3", 2000),
        (7, 7),
        (1e4, 10_000),
        (None, None),
    ],
)
def test_amounts_as_people_write_them(text: str | int | None, amount: int | None) -> None:
    assert parse_amount(text) == amount


@given(st.integers(min_value=0, max_value=2**53))
def test_whole_amounts_are_exact(amount: int) -> None:
    assert parse_amount(str(amount)) == amount


@pytest.mark.parametrize("text", ["", "many", "-3", "1.0X", "1,000", "nan", -4, float("inf")])
def test_amounts_that_are_none(text: str | float) -> None:
    with pytest.raises(SettingError, match="is not an amount"):
        parse_amount(text)


@pytest.mark.parametrize("text", ["20MB", "20 MB", "20mb", "20M", "20000kB", "0.02GB", "20000000B", 20_000_000])
def test_memory_may_be_written_with_its_unit(text: str | int) -> None:
    assert Limits(max_memory=text).max_memory == 20_000_000


def test_a_unit_that_is_none_of_the_cost_is_refused() -> None:
    assert Limits(max_params="1.0 M").max_params == 1_000_000
    with pytest.raises(SettingError, match=r"^max_params \(--max-params\): '1.0MB' is not an amount.* 1.0M or 1.2G\."):
        Limits(max_params="1.0MB")
    with pytest.raises(SettingError, match=r"\(--max-latency\): 'soon' is not a latency"):
        Limits(max_latency="soon")
    with pytest.raises(SettingError, match=r"'20MW' is not an amount.* 1.0MB or 1.2GB \(B is optional\)"):
        Limits(max_memory="20MW")


def test_limits() -> None:
    def allowed(limits: Limits, **amounts: float) -> bool:
        return limits.excess(amounts.__getitem__) == 0

    limits = Limits(max_params=10, max_macs=100)
    assert allowed(limits, params=10, macs=100)
    assert not allowed(limits, params=11, macs=1)
    assert not allowed(limits, params=1, macs=101)
    assert allowed(Limits())
    assert str(limits) == "at most 10 parameters and at most 100 MACs"
    assert str(Limits()) == "no limits"
    band = Limits(max_params=10, min_params=5, min_macs=7)
    costs = ((5, 7), (10, 99), (4, 7), (11, 7), (5, 6))
    assert [allowed(band, params=params, macs=macs) for params, macs in costs] == [True, True, False, False, False]
    assert str(band) == "at least 5 parameters and at most 10 parameters and at least 7 MACs"
    with pytest.raises(LimitError, match="at least 6 and at most 5 MACs"):
        Limits(max_macs=5, min_macs=6)


def test_dear_costs_are_asked_for_last_and_only_if_need_be() -> None:
    limits = Limits(max_latency=2.5, max_memory=1000, max_params=10)
    asked = []

    def amount(name: str) -> float:
        asked.append(name)
        return {"params": 9.0, "memory": 1500.0, "latency": 1.0}[name]

    assert limits.excess(amount) == pytest.approx(0.5)
    assert asked == ["params", "memory"]
    assert str(limits) == "at most 10 parameters and at most 1,000 bytes of memory and at most 2.5 ms of latency"
    assert limits.to_dict() == {"max_params": 10, "max_memory": 1000, "max_latency": 2.5}
    assert Limits(min_macs=10).excess(lambda name: 4) == pytest.approx(0.6)
    assert Limits(max_latency=1).excess(lambda name: math.inf) == math.inf


def test_how_far_a_network_is_beyond_the_limits_is_told_by_the_worst_of_what_is_cheap_to_know() -> None:
    limits = Limits(max_params=100, min_macs=100)
    assert limits.excess({"params": 110, "macs": 20}.__getitem__) == pytest.approx(0.8)
    assert limits.excess({"params": 150, "macs": 60}.__getitem__) == pytest.approx(0.5)


def test_limits_as_people_write_them() -> None:
    assert Limits(max_latency=1e-5).max_latency == 1e-5
    limits = Limits(max_params="1.5M", min_macs=3, max_macs=None, max_latency="2.5 ms")
    assert limits == Limits(max_params=1_500_000, min_macs=3, max_latency=2.5)
    for wrong in ("fast", "0", "-1", "nan", "1e3s"):
        with pytest.raises(SettingError, match=r"not a latency.*milliseconds"):
            Limits(max_latency=wrong)


@proxy(higher_is_better=False)
def error_like(probe: Probe) -> Parts:
    return Parts(0.0)


def test_utility_is_higher_for_the_better() -> None:
    objective = Objective(ProxyRequest(error_like))
    low, high = (
        NetworkScore("a", {"error_like": Score(value, higher_is_better=False)}, Cost(1, 1)) for value in (1.0, 2.0)
    )
    assert (objective.utility(low), objective.utility(high)) == (-1.0, -2.0)
    broken = NetworkScore("a", {"error_like": Score.without_value("failed", "")}, Cost(1, 1))
    assert objective.utility(broken) is None
    assert Objective(Ensemble("log_rank", (ProxyRequest(error_like),), (1.0,))).utility(low) is None


def test_the_best_come_first_whatever_the_order_of_arrival() -> None:
    values = {"c": 1.0, "b": 1.0, "a": 3.0, "e": None, "d": -2.0}
    networks = [
        NetworkScore(text, {"error_like": Score.without_value("failed", "") if value is None else Score(value)}, None)
        for text, value in values.items()
    ]
    request = ProxyRequest(error_like)
    for by in (request, Ensemble("rank_mean", (request,), (1.0,))):
        for pool in (networks, networks[::-1]):
            candidates = best_first(by, pool)
            assert [candidate.network.architecture for candidate in candidates] == ["a", "b", "c", "d", "e"]
            assert candidates[-1].utility is None
    assert [candidate.utility for candidate in candidates] == [1.0, 0.7, 0.7, 0.4, None]
