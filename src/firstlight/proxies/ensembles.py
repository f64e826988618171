"""Ensembles: networks of a pool are ranked by each of several proxies, and the ranks are aggregated.

Ranks make proxies of any scale comparable, but they only mean something within a pool. So an ensemble is not a proxy:
it evaluates all networks of a pool at once, and every network that joins may change the utility of the others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import ParseError, SettingError, UnknownNameError
from firstlight.proxies import PROXIES
from firstlight.proxies.base import NetworkScore, Proxy
from firstlight.proxies.requests import ProxyRequest, find_proxy, with_companions

Figures = NDArray[np.float64]


def _log_rank(shares: Figures, weights: Figures) -> Figures:
    """Sum of ln(rank / n): the others can hardly make up for a proxy that ranks a network last. At best 0."""
    return np.asarray(np.sum(weights * np.log(shares), axis=1))


def _rank_mean(shares: Figures, weights: Figures) -> Figures:
    """Mean of rank / n: a good rank by one proxy makes up for a bad one by another. At best 1."""
    return np.asarray(np.sum(weights * shares, axis=1) / np.sum(weights))


def _normal_mean(shares: Figures, weights: Figures) -> Figures:
    """Mean of what a normal distribution has at each rank: the first and the last places count more than the others."""
    from scipy.stats import norm  # slow to import

    scores = norm.ppf(shares - 0.5 / max(len(shares), 1))
    return np.asarray(np.sum(weights * scores, axis=1) / np.sum(weights))


# Each takes ranks as shares of the pool's size (a row for each network) and the weights of the members.
AGGREGATIONS: dict[str, Callable[[Figures, Figures], Figures]] = {
    "log_rank": _log_rank,
    "normal_mean": _normal_mean,
    "rank_mean": _rank_mean,
}
# With a larger one, the other members would not matter at all.
LARGEST_WEIGHT = 1e9
# Fitted on benchmarks of several spaces, for spaces without labels; `python -m tools.prior` writes the file
PREDICTED, PREDICTED_FILE = "predicted", "predicted.json"


def read_predicted() -> dict[str, Any]:
    """Return the ensemble `predicted` and how it was made."""
    text = (resources.files(__package__) / PREDICTED_FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


# Ensembles with a name of their own; members are looked up when one is asked for.
NAMED = {
    PREDICTED: read_predicted()["ensemble"],
    "az_nas": "log_rank(az_expressivity,az_progressivity,az_trainability,macs)",
    "vkdnw_agg": "log_rank(vkdnw,jacov,az_expressivity,az_trainability,macs)",
    # SiGeo's terms, independent of their scales; and those of them that carried information in our measurements
    "sigeo_rank": "rank_mean(zico:batches=4,fr_norm,loss)",
    "sigeo_loss_rank": "rank_mean(zico:batches=4,loss*0.5)",
}
# Proxies that are always reported beside an ensemble.
BESIDE = dict.fromkeys(("sigeo_rank", "sigeo_loss_rank"), ("zico", "loss", "params"))


@dataclass(frozen=True)
class Ensemble:
    """Members with weights, and how their ranks are aggregated.

    Text form: `rank_mean(dextr,params)`, with weights `log_rank(dextr*2,params)`, or a name such as `az_nas`.

    Attributes:
        aggregation: A name of `AGGREGATIONS`.
        requests: The members.
        weights: Their weights.
    """

    aggregation: str
    requests: tuple[ProxyRequest, ...]
    weights: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Ensemble:
        """Read the text form."""
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
                raise SettingError(
                    f"{str(request)!r} occurs twice in {written!r}. Give it a weight instead: {request}*2."
                )
            members[request] = weight
            position += len(member) + 1
        return cls(name.strip(), tuple(members), tuple(members.values()))

    def __str__(self) -> str:
        members = (f"{request}{_written(weight)}" for request, weight in zip(self.requests, self.weights, strict=True))
        text = f"{self.aggregation}({','.join(members)})"
        return next((name for name, meaning in NAMED.items() if meaning == text), text)

    def shares(self, utilities: Figures) -> Figures:
        """Return each network's rank by each member, divided by the size of the pool: 1 is best.

        Ranks ascend with the utility, and networks that are equal share the mean of their ranks. Networks without a
        score rank lowest.
        """
        from scipy.stats import rankdata  # slow to import, and most commands do not need it

        return rankdata(utilities, axis=0) / max(len(utilities), 1)

    def aggregate(self, shares: Figures) -> Figures:
        """Return the utility of each network of the pool from its ranks as shares."""
        return AGGREGATIONS[self.aggregation](shares, np.array(self.weights))


Criterion = ProxyRequest | Ensemble


def parse_criterion(text: str | Proxy) -> Criterion:
    """Read what networks can be ranked by: a proxy with its settings, a proxy as an object, or an ensemble."""
    if not isinstance(text, str):
        return ProxyRequest.of(find_proxy(text))
    if "," in text and "(" not in text:
        raise SettingError(f"{text!r} names several proxies. Name one, or an ensemble such as rank_mean({text}).")
    name = PROXIES.split(text.partition("(")[0])[0].strip()
    if "(" in text or name in NAMED or name in AGGREGATIONS:
        return Ensemble.parse(text)
    if name not in PROXIES and ":" not in name:
        raise UnknownNameError("proxy or ensemble", name, [*PROXIES, *NAMED, *AGGREGATIONS])
    return ProxyRequest.parse(text)


def after_warm_up(by: Criterion, data_kind: str) -> Criterion:
    """Return the criterion with the settings for warmed-up weights."""
    return _each(by, lambda request: request.after_warm_up(data_kind))


def for_space(by: Criterion, space: str) -> Criterion:
    """Return the criterion with the settings that its proxies have in a space."""
    return _each(by, lambda request: request.for_space(space))


def _each(by: Criterion, change: Callable[[ProxyRequest], ProxyRequest]) -> Criterion:
    return replace(by, requests=tuple(map(change, by.requests))) if isinstance(by, Ensemble) else change(by)


def asked_for(by: Criterion) -> list[ProxyRequest]:
    """Return the proxies to measure: the members, and those that are reported beside them."""
    beside = [ProxyRequest.parse(text) for text in BESIDE.get(str(by), ())]
    return with_companions([*members(by), *beside])


def members(by: Criterion) -> tuple[ProxyRequest, ...]:
    """Return the proxies that a criterion consists of."""
    return by.requests if isinstance(by, Ensemble) else (by,)


def member_utilities(by: Criterion, networks: Sequence[NetworkScore]) -> Figures:
    """Return a row for each network and a column for each member: higher is better, -inf without a score."""
    names = [str(member) for member in members(by)]
    scores = ([network.scores[name] for name in names] for network in networks)
    rows = [[score.utility if score.ok else -math.inf for score in own] for own in scores]
    return np.array(rows, dtype=float).reshape(len(networks), len(names))


def pool_utilities(by: Criterion, by_member: Figures) -> Figures:
    """Return the utility of each network of a pool: higher is better, -inf for one without any score.

    Args:
        by: The proxy or ensemble.
        by_member: What `member_utilities` returns.
    """
    found = by.aggregate(by.shares(by_member)) if isinstance(by, Ensemble) else by_member[:, 0]
    scored = (by_member > -math.inf).any(axis=1)
    return np.where(scored, found, -math.inf)


def utilities(by: Criterion, networks: Sequence[NetworkScore]) -> list[float | None]:
    """Return the utility of each network of a pool: higher is better, None without any score."""
    found = pool_utilities(by, member_utilities(by, networks)).tolist()
    return [None if utility == -math.inf else utility for utility in found]


def _parse_member(text: str, position: int, member: str) -> tuple[ProxyRequest, float]:
    name, star, weight = member.partition("*")
    start = position + len(member) - len(member.lstrip())
    if not name.strip():
        raise ParseError(text, start, "the name of a proxy")
    for bracket in "()":
        if bracket in member:
            raise ParseError(
                text, position + member.index(bracket), "a proxy with its settings (ensembles cannot be nested)"
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
