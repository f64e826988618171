"""Several proxies as one: networks of a pool are ranked by each, and the ranks are put together.

Ranks make proxies of any scale comparable, but they only mean something within a pool. So an ensemble is no proxy: it
judges all networks of a pool at once, and every network that joins may change what the others are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import ParseError, SettingError, UnknownNameError
from firstlight.proxies import PROXIES
from firstlight.proxies.base import NetworkScore, Proxy
from firstlight.proxies.requests import ProxyRequest, not_a_proxy, split_name, with_companions

Figures = NDArray[np.float64]


def _log_rank(shares: Figures, weights: Figures) -> Figures:
    """Sum of ln(rank / n): a network that is worst by one proxy is hardly saved by the others. At best 0."""
    return np.asarray(np.sum(weights * np.log(shares), axis=1))


def _rank_mean(shares: Figures, weights: Figures) -> Figures:
    """Mean of rank / n: a weakness by one proxy is made up for by a strength by another. At best 1."""
    return np.asarray(np.sum(weights * shares, axis=1) / np.sum(weights))


# how ranks as shares of the pool's size, a row for each network, and the weights of those who ranked become one number
AGGREGATIONS: dict[str, Callable[[Figures, Figures], Figures]] = {
    "log_rank": _log_rank,
    "rank_mean": _rank_mean,
}
# beyond it, the other members would have no say at all
LARGEST_WEIGHT = 1e9
# ensembles that have a name of their own; their members are looked up when one is asked for
NAMED = {
    "az_nas": "log_rank(az_expressivity,az_progressivity,az_trainability,macs)",
    # SiGeo's terms, whatever their scales; and those of them that carried information in our measurements
    "sigeo_rank": "rank_mean(zico:batches=4,fr_norm,loss)",
    "sigeo_loss_rank": "rank_mean(zico:batches=4,loss*0.5)",
}
# What is asked and told together with one of these
BESIDE = dict.fromkeys(("sigeo_rank", "sigeo_loss_rank"), ("zico", "loss", "params"))


@dataclass(frozen=True)
class Ensemble:
    """Members with weights, and how their ranks are put together.

    Text form: `rank_mean(dextr,params)`, with weights `log_rank(dextr*2,params)`, or a name such as `az_nas`.
    """

    aggregation: str
    requests: tuple[ProxyRequest, ...]
    weights: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Ensemble:
        written = NAMED.get(text.strip(), text)
        name, bracket, rest = written.partition("(")
        if name.strip() not in AGGREGATIONS:
            raise UnknownNameError("ensemble", name.strip(), [*NAMED, *AGGREGATIONS])
        if not bracket:
            raise ParseError(written, len(written.rstrip()), "members in brackets, such as (dextr,params)")
        if not rest.rstrip().endswith(")"):
            raise ParseError(written, len(written.rstrip()), "a closing bracket")
        members: dict[ProxyRequest, float] = {}
        position = len(name) + 1
        for member in rest.rstrip()[:-1].split(","):
            request, weight = _parse_member(written, position, member)
            if request in members:
                raise SettingError(f"{str(request)!r} is twice in {written!r}. Give it a weight instead: {request}*2.")
            members[request] = weight
            position += len(member) + 1
        return cls(name.strip(), tuple(members), tuple(members.values()))

    def __str__(self) -> str:
        members = (f"{request}{_written(weight)}" for request, weight in zip(self.requests, self.weights, strict=True))
        text = f"{self.aggregation}({','.join(members)})"
        return next((name for name, meaning in NAMED.items() if meaning == text), text)

    def shares(self, worths: Figures) -> Figures:
        """Each network's rank by each member, over the size of the pool: 1 is best. Without a score it ranks lowest.

        Ranks ascend with worth, and networks that are equal share the mean of their ranks.
        """
        from scipy.stats import rankdata  # slow to import, and most commands have no need of it

        return rankdata(worths, axis=0) / max(len(worths), 1)

    def judge(self, worths: Figures) -> Figures:
        """How good each network of the pool is: higher is better."""
        return self.aggregate(self.shares(worths))

    def aggregate(self, shares: Figures) -> Figures:
        return AGGREGATIONS[self.aggregation](shares, np.array(self.weights))


Criterion = ProxyRequest | Ensemble


def parse_criterion(text: str | Proxy) -> Criterion:
    """What networks can be ordered by: a proxy with its settings, or as an object, or an ensemble."""
    if isinstance(text, Proxy):
        return ProxyRequest.of(text)
    if not isinstance(text, str):
        raise not_a_proxy(text)
    if "," in text and "(" not in text:
        raise SettingError(
            f"{text!r} names several, but the order is that of one proxy or of an ensemble, such as rank_mean({text})."
        )
    name = split_name(text.partition("(")[0])[0].strip()
    if "(" in text or name in NAMED or name in AGGREGATIONS:
        return Ensemble.parse(text)
    if name not in PROXIES and ":" not in name:
        raise UnknownNameError("proxy or ensemble", name, [*PROXIES, *NAMED, *AGGREGATIONS])
    return ProxyRequest.parse(text)


def after_warm_up(by: Criterion, data_kind: str) -> Criterion:
    """With the settings that authors of proxies take for warmed-up weights."""
    if isinstance(by, Ensemble):
        return replace(by, requests=tuple(request.after_warm_up(data_kind) for request in by.requests))
    return by.after_warm_up(data_kind)


def asked_for(by: Criterion) -> list[ProxyRequest]:
    """The proxies that must be asked, and those that are to be told beside them."""
    beside = [ProxyRequest.parse(text) for text in BESIDE.get(str(by), ())]
    return with_companions([*members(by), *beside])


def members(by: Criterion) -> tuple[ProxyRequest, ...]:
    """The proxies that must be asked."""
    return by.requests if isinstance(by, Ensemble) else (by,)


def worths(by: Criterion, networks: Sequence[NetworkScore]) -> Figures:
    """One row for each network, one column for each member: higher is better, -inf without a score."""
    names = [str(member) for member in members(by)]
    scores = ([network.scores[name] for name in names] for network in networks)
    rows = [[score.utility if score.ok else -math.inf for score in own] for own in scores]
    return np.array(rows, dtype=float).reshape(len(networks), len(names))


def judge(by: Criterion, worths: Figures) -> Figures:
    """How good each network of the pool is: higher is better, -inf for one without a score by any member."""
    found = by.judge(worths) if isinstance(by, Ensemble) else worths[:, 0]
    scored = (worths > -math.inf).any(axis=1)
    return np.where(scored, found, -math.inf)


def utilities(by: Criterion, networks: Sequence[NetworkScore]) -> list[float | None]:
    """The same, with None in place of -inf."""
    merits = judge(by, worths(by, networks)).tolist()
    return [None if merit == -math.inf else merit for merit in merits]


def _parse_member(text: str, position: int, member: str) -> tuple[ProxyRequest, float]:
    name, star, weight = member.partition("*")
    start = position + len(member) - len(member.lstrip())
    if not name.strip():
        raise ParseError(text, start, "the name of a proxy")
    for bracket in "()":
        if bracket in member:
            raise ParseError(
                text, position + member.index(bracket), "a proxy with its settings, for ensembles do not nest,"
            )
    request = ProxyRequest.parse(name)
    if not star:
        return request, 1.0
    try:
        amount = float(weight)
    except ValueError:
        amount = math.nan
    if not 0 < amount <= LARGEST_WEIGHT:
        raise SettingError(
            f"The weight of {str(request)!r} in {text!r} is {weight.strip()!r}; "
            f"it must be a number above 0 and at most {LARGEST_WEIGHT:g}, such as {request}*2 or {request}*0.5."
        )
    return request, amount


def _written(weight: float) -> str:
    return "" if weight == 1 else f"*{weight!r}".removesuffix(".0")
