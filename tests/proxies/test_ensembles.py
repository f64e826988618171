"""Ensembles: their text, and the utility of each network of a pool."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registries import holds_only

from firstlight.core.errors import FirstlightError, ParseError, SettingError, UnknownNameError
from firstlight.probe import Probe
from firstlight.probe.cost import Cost
from firstlight.proxies import PROXIES
from firstlight.proxies.base import NetworkScore, Parts, Proxy, Score, proxy
from firstlight.proxies.ensembles import (
    AGGREGATIONS,
    NAMED,
    Ensemble,
    after_warm_up,
    asked_for,
    member_utilities,
    members,
    parse_criterion,
    utilities,
)
from firstlight.proxies.requests import ProxyRequest


@proxy
def width(probe: Probe, *, rate: float = 0.5) -> Parts:
    return Parts(rate)


@proxy(higher_is_better=False)
def error(probe: Probe) -> Parts:
    return Parts(0.0)


def stand_in(name: str) -> Proxy:
    return Proxy(name, width.function, needs="nothing")


MEMBERS = ("width", "error", "depth")


@pytest.fixture(autouse=True)
def registered(request: pytest.FixtureRequest) -> Iterator[None]:
    if "all_proxies" in request.fixturenames:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        holds_only(PROXIES, {"width": width, "error": error, "depth": stand_in("depth")}, patch)
        yield


def pool(*columns: list[float | None], names: tuple[str, ...] = MEMBERS) -> list[NetworkScore]:
    """Networks with these values by each proxy; None is a network without a score."""

    def score(name: str, value: float | None) -> Score:
        if value is None:
            return Score.without_value("unsupported", "why")
        return Score(value, higher_is_better=PROXIES[name].higher_is_better)

    return [
        NetworkScore(f"n{i}", {n: score(n, v) for n, v in zip(names, row, strict=False)}, Cost(1, 1))
        for i, row in enumerate(zip(*columns, strict=True))
    ]


scores = st.none() | st.integers(-5, 5).map(float) | st.floats(-1e6, 1e6)
rows = st.lists(st.tuples(scores, scores, scores), min_size=1, max_size=12)
weights = st.floats(min_value=1e-6, max_value=1e6) | st.integers(1, 5).map(float)


def judged(ensemble: Ensemble, networks: list[NetworkScore]) -> list[float]:
    return ensemble.aggregate(ensemble.shares(member_utilities(ensemble, networks))).tolist()


aggregations = st.sampled_from(sorted(AGGREGATIONS))


@st.composite
def ensembles(draw: st.DrawFn) -> Ensemble:
    rates = draw(st.lists(st.floats(0, 1).filter(lambda rate: rate != 0.5), max_size=2, unique=True))
    requests = [ProxyRequest(width, (("rate", rate),)) for rate in rates]
    names = draw(st.lists(st.sampled_from(MEMBERS), min_size=0 if rates else 1, unique=True))
    members = draw(st.permutations([*requests, *map(ProxyRequest.parse, names)]))
    return Ensemble(draw(aggregations), tuple(members), tuple(draw(weights) for _ in members))


@given(ensembles())
def test_the_text_of_an_ensemble_reads_back(ensemble: Ensemble) -> None:
    assert Ensemble.parse(str(ensemble)) == ensemble
    assert parse_criterion(f" {ensemble} ".replace(",", " , ").replace("*", " * ")) == ensemble


def test_text_as_people_write_it() -> None:
    assert str(Ensemble.parse("rank_mean( width*2.0 , depth*1 )")) == "rank_mean(width*2,depth)"
    assert str(parse_criterion("width:rate=0.25")) == "width:rate=0.25"
    assert Ensemble.parse("log_rank(width:rate=0.25*0.5,error)").weights == (0.5, 1.0)


@settings(deadline=None)  # the first example imports scipy
@given(rows, aggregations, st.randoms(use_true_random=False), st.tuples(weights, weights, weights))
def test_the_order_of_the_pool_has_no_say(
    rows: list[tuple[float | None, ...]], aggregation: str, rng: random.Random, own: tuple[float, ...]
) -> None:
    ensemble = Ensemble(aggregation, tuple(map(ProxyRequest.parse, MEMBERS)), own)
    networks = pool(*map(list, zip(*rows, strict=True)))
    values = {n.architecture: v for n, v in zip(networks, judged(ensemble, networks), strict=True)}
    rng.shuffle(networks)
    assert judged(ensemble, networks) == [values[network.architecture] for network in networks]
    assert all(map(math.isfinite, values.values()))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=12), aggregations)
def test_only_the_order_within_a_member_counts(rows: list[tuple[int, int]], aggregation: str) -> None:
    ensemble = Ensemble.parse(f"{aggregation}(width,error)")
    plain, bent = (
        pool([f(a) for a, _ in rows], [g(b) for _, b in rows])
        for f, g in ((float, float), (lambda a: math.exp(a / 9) - 3, lambda b: float(b**3 + 7 * b)))
    )
    assert judged(ensemble, plain) == judged(ensemble, bent)


@settings(deadline=None)
@given(st.integers(1, 9), aggregations)
def test_the_best_by_all_members_has_the_highest_value_there_is(worse: int, aggregation: str) -> None:
    networks = pool([float(i) for i in range(worse + 1)], [float(-i) for i in range(worse + 1)])
    values = judged(Ensemble.parse(f"{aggregation}(width,error*3)"), networks)
    best = {"log_rank": 0.0, "normal_mean": NormalDist().inv_cdf(1 - 0.5 / (worse + 1)), "rank_mean": 1.0}
    assert values[-1] == pytest.approx(best[aggregation])
    assert values == sorted(values)


def test_values_by_hand() -> None:
    networks = pool([1.0, 2.0, 2.0, 4.0], [9.0, 9.0, 5.0, 7.0])
    shares = [(1, 1.5), (2.5, 1.5), (2.5, 4), (4, 3)]  # ascending, ties averaged; a lower error is better
    ensemble = Ensemble.parse("log_rank(width,error)")
    assert ensemble.shares(member_utilities(ensemble, networks)).tolist() == [[a / 4, b / 4] for a, b in shares]
    logarithms = [math.log(a / 4) + math.log(b / 4) for a, b in shares]
    assert judged(Ensemble.parse("log_rank(width,error)"), networks) == pytest.approx(logarithms)
    means = [(2 * a / 4 + b / 4) / 3 for a, b in shares]
    assert judged(Ensemble.parse("rank_mean(width*2,error)"), networks) == pytest.approx(means)
    normal = [[NormalDist().inv_cdf((rank - 0.5) / 4) for rank in ranks] for ranks in shares]
    weighted = [(2 * a + b) / 3 for a, b in normal]
    assert judged(Ensemble.parse("normal_mean(width*2,error)"), networks) == pytest.approx(weighted)
    assert judged(Ensemble.parse("rank_mean(width)"), []) == []


def test_a_member_without_any_score_has_no_say() -> None:
    networks = pool([1.0, 2.0, 3.0], [None, None, None])
    alone, both = (judged(Ensemble.parse(f"normal_mean({members})"), networks) for members in ("width", "width,error"))
    assert both == pytest.approx([value / 2 for value in alone])


def test_without_a_score_a_network_ranks_lowest() -> None:
    networks = pool([None, -1e9, None, 5.0])
    values = judged(Ensemble.parse("log_rank(width)"), networks)
    assert values == pytest.approx([math.log(r / 4) for r in (1.5, 3, 1.5, 4)])
    assert utilities(ProxyRequest.parse("width"), networks) == [None, -1e9, None, 5.0]
    assert utilities(Ensemble.parse("log_rank(width)"), networks) == [None, values[1], None, values[3]]


def test_a_named_ensemble_finds_its_members_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="no proxy 'az_expressivity'"):
        parse_criterion("az_nas")
    names = ("az_expressivity", "az_progressivity", "az_trainability", "macs")
    holds_only(PROXIES, {name: stand_in(name) for name in names}, monkeypatch)
    ensemble = parse_criterion("az_nas")
    assert ensemble == parse_criterion(NAMED["az_nas"])
    assert str(ensemble) == "az_nas"
    networks = pool([2.0, 1.0], [3.0, 4.0], [5.0, 1.0], [7.0, 7.0], names=names)
    halves = math.log(1 / 2), math.log(3 / 4)
    assert utilities(ensemble, networks) == pytest.approx([halves[0] + halves[1], 2 * halves[0] + halves[1]])


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("width,error", SettingError, r"Name one, or an ensemble such as rank_mean\(width,error\)"),
        ("rank_mean", ParseError, r"members in brackets, such as \(dextr,params\) at character 10"),
        ("rank_mean(width", ParseError, "closing bracket at character 16"),
        ("rank_mean(width,error) extra", ParseError, "closing bracket"),
        ("rank_mean()", ParseError, "the name of a proxy at character 11"),
        ("rank_mean(width, )", ParseError, "the name of a proxy at character 18"),
        ("rank_mean(*2,width)", ParseError, "the name of a proxy at character 11"),
        ("rank_mean(log_rank(width),error)", ParseError, "cannot be nested\\) at character 19"),
        ("rank_main(width)", UnknownNameError, "Did you mean 'rank_mean'"),
        ("az_nass", UnknownNameError, "Did you mean 'az_nas'"),
        ("rank_mean(widht)", UnknownNameError, "Did you mean 'width'"),
        ("rank_mean(width:rat=1)", SettingError, "settings: rate"),
        ("rank_mean(width,width)", SettingError, r"twice .* width\*2"),
        ("rank_mean(width*many)", SettingError, "is 'many'; it must be a number above 0"),
        ("rank_mean(width*0)", SettingError, "number above 0"),
        ("rank_mean(width*-1)", SettingError, "number above 0"),
        ("rank_mean(width*inf)", SettingError, "number above 0"),
        ("rank_mean(width*1e308,error*1e308)", SettingError, "at most 1e\\+09"),
        ("rank_mean(width*2*3)", SettingError, r"is '2\*3'"),
    ],
)
def test_text_that_makes_no_sense(text: str, kind: type[FirstlightError], message: str) -> None:
    with pytest.raises(kind, match=message):
        parse_criterion(text)


@pytest.fixture
def all_proxies() -> None:
    """The registry is left as it is."""


@pytest.mark.usefixtures("all_proxies")
def test_terms_of_sigeo_by_their_ranks() -> None:
    ensemble = parse_criterion("sigeo_rank")
    assert [str(member) for member in members(ensemble)] == ["zico:batches=4", "fr_norm", "loss"]
    assert [str(request) for request in asked_for(ensemble)] == ["zico:batches=4", "fr_norm", "loss", "zico", "params"]
    by_loss = parse_criterion("sigeo_loss_rank")
    assert isinstance(by_loss, Ensemble)
    assert by_loss.weights == (1.0, 0.5)
    assert str(by_loss) == "sigeo_loss_rank"
    assert [str(request) for request in asked_for(parse_criterion("dextr"))] == ["dextr"]


@pytest.mark.usefixtures("all_proxies")
def test_members_take_the_settings_for_warmed_up_weights() -> None:
    after = after_warm_up(parse_criterion("rank_mean(sigeo*2,params)"), "images")
    assert str(after) == "rank_mean(sigeo:lambda2=50.0:lambda3=1.0*2,params)"
    assert parse_criterion(str(after)) == after
    assert str(after_warm_up(parse_criterion("sigeo"), "clicks")) == "sigeo:lambda3=1.0"
    assert str(after_warm_up(parse_criterion("sigeo_rank"), "images")) == "sigeo_rank"
