"""Rankings of networks, and how far proxies agree about them."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.core.statistics import finite, kendall, spearman
from firstlight.core.wording import counted, figure
from firstlight.proxies.base import NetworkScore, Proxies, Proxy
from firstlight.proxies.ensembles import Criterion, Ensemble, after_warm_up, asked_for, for_space, parse_criterion
from firstlight.proxies.requests import ProxyRequest, explain_companions, read_requests
from firstlight.scoring.service import ScoreService
from firstlight.search.objective import Candidate, Objective, best_first
from firstlight.search.problem import Problem

# With fewer networks, a rank correlation means next to nothing.
FEWEST_TO_COMPARE = 3
DEFAULT_PROXY = "dextr"


@dataclass(frozen=True)
class RankedNetwork:
    """A network in a ranking.

    Attributes:
        rank: 1 for the best; equal networks share a rank. None without a score.
        value: The value that networks are ranked by. None without a score.
        network: Its scores and costs.
    """

    rank: int | None
    value: float | None
    network: NetworkScore

    def to_dict(self) -> dict[str, Any]:
        return {"rank": self.rank, "value": self.value, **self.network.to_dict()}


@dataclass(frozen=True)
class Agreement:
    """The rank correlation of two proxies, each oriented so that higher is better.

    Attributes:
        first: The first proxy.
        second: The second proxy.
        networks: The number of networks that have a score by both.
        spearman: Spearman's correlation; None where it is not defined: too few networks, or a constant proxy.
        kendall: Kendall's tau; None where it is not defined.
    """

    first: str
    second: str
    networks: int
    spearman: float | None
    kendall: float | None

    def to_dict(self) -> dict[str, Any]:
        numbers = {"networks": self.networks, "spearman": self.spearman, "kendall": self.kendall}
        return {"proxies": [self.first, self.second], **numbers}


@dataclass(frozen=True)
class Ranking:
    """The result of `firstlight.rank`. Its text is a table.

    Attributes:
        by: The proxy or ensemble that networks are ranked by.
        proxies: The names of all proxies.
        rows: The networks, best first and those without a score last.
        agreement: The rank correlation of each pair of proxies.
        remarks: Notes on the proxies.

    >>> small = {"cells": 1, "channels": 4}
    >>> ranking = firstlight.rank("nasbench201", samples=5, proxies="params,macs", skeleton=small, workers=0)
    >>> ranking.rows[0].rank
    1
    """

    by: Criterion
    proxies: tuple[str, ...]
    rows: tuple[RankedNetwork, ...]
    agreement: tuple[Agreement, ...]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a table to print: a line for each network, the best first, and why networks have no value."""
        rows = self.table()
        columns = [name for name in rows[0] if name not in ("rank", "network", "remarks")]
        lines = [["rank", *columns, "network"]]
        for row in rows:
            lines.append([str(row["rank"] or "-"), *(figure(row[name]) for name in columns), row["network"]])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            [cell.rjust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)] + line[-1:]
            for line in lines
        )
        return "\n".join(["  ".join(line) for line in aligned] + self.missing() + list(self.remarks))

    def missing(self) -> list[str]:
        """Return why networks have no value: a line for all proxies that have none for the same networks and reason."""
        networks: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            for name, score in row.network.scores.items():
                if not score.ok:
                    networks.setdefault((name, score.reason), []).append(row.network.architecture)
        proxies: dict[tuple[str, ...], list[str]] = {}
        for (name, reason), without in networks.items():
            proxies.setdefault((reason, *without), []).append(name)
        lines = []
        for (reason, *without), names in proxies.items():
            which = f"{len(without)} of {counted(len(self.rows), 'network')}"
            example = f" ({without[0]})" if len(without) == 1 else ""
            verb = "has" if len(names) == 1 else "have"
            lines.append(f"{', '.join(names)} {verb} no value for {which}{example}: {reason}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        networks = [row.to_dict() for row in self.rows]
        remarks = {"remarks": list(self.remarks)} if self.remarks else {}
        agreement = [pair.to_dict() for pair in self.agreement]
        return {"by": str(self.by), "networks": networks, "agreement": agreement, **remarks}

    def table(self) -> list[dict[str, Any]]:
        """Return flat rows for a spreadsheet or a data frame: None where there is no value, and `remarks` say why."""
        return [
            {
                "rank": row.rank,
                "network": row.network.architecture,
                str(self.by): row.value,
                **{name: score.value if score.ok else None for name, score in row.network.scores.items()},
                # the same columns as those of proxies which are these very counts
                "params": None if row.network.cost is None else row.network.cost.params,
                "macs": None if row.network.cost is None else row.network.cost.macs,
                "remarks": _remarks(row.network),
            }
            for row in self.rows
        ]

    def write_csv(self, path: Path) -> None:
        """Write the rows of `table` to a file.

        Raises:
            SettingError: If the file cannot be written.
        """
        rows = self.table()
        try:
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        except OSError as error:
            raise SettingError(f"{path} cannot be written: {error}. Name another file.") from error


def read_criteria(
    proxies: Proxies | None, by: str | Proxy | None, warmed: str | None = None, space: str = ""
) -> tuple[list[ProxyRequest], Criterion]:
    """Return all proxies to measure, and the proxy or ensemble to rank by.

    Args:
        proxies: The proxies; those of `by` are added.
        by: What to rank by; by default the first proxy.
        warmed: The kind of data, if networks are scored after a warm-up.
        space: The name of the space of the networks, if they are of one.
    """
    wanted = None if by is None else for_space(parse_criterion(by), space)
    if wanted is not None and warmed is not None:
        wanted = after_warm_up(wanted, warmed)
    if proxies is None:
        requests = [] if wanted else read_requests(DEFAULT_PROXY)
    else:
        requests = read_requests(proxies, warmed, space)
    criterion = wanted or requests[0]
    return list(dict.fromkeys([*requests, *asked_for(criterion)])), criterion


def rank_networks(networks: Iterable[NetworkScore], requests: Sequence[ProxyRequest], by: Criterion) -> Ranking:
    """Rank scored networks, and compare the proxies."""
    candidates = best_first(by, networks)
    ranks: dict[float | None, int] = {}
    for position, candidate in enumerate(candidates, start=1):
        ranks.setdefault(candidate.utility, position)
    rows = tuple(_row(candidate, ranks[candidate.utility], by) for candidate in candidates)
    pool = [candidate.network for candidate in candidates]
    names = tuple(map(str, requests))
    agreement = tuple(_agreement(pool, *pair) for pair in itertools.combinations(names, 2))
    return Ranking(by, names, rows, agreement, tuple(filter(None, [explain_companions(requests)])))


def score_architectures(service: ScoreService, given: Iterable[object], samples: int) -> Iterator[NetworkScore]:
    """Score the given architectures, and `samples` random ones that differ from them and from each other."""
    space = service.setting.space
    architectures = [space.read(str(item)) for item in given]
    if not isinstance(samples, int) or samples < 0:
        raise SettingError(f"The number of samples is {samples!r}; it must be a whole number, 0 or more.")
    if not architectures and not samples:
        raise SettingError(
            f"There is nothing to rank. Name architectures of {space.name!r}, or draw some at random with "
            "samples (--samples 100)."
        )
    taken = {space.canonical(architecture) for architecture in architectures}
    objective = Objective(next(iter(service.requests.values())))
    drawn = Problem(service, objective, python_generator(service.setting.seed, "rank"), samples).distinct_samples()
    fresh = itertools.islice((architecture for architecture in drawn if architecture not in taken), samples)
    yield from service.scores(map(str, itertools.chain(architectures, fresh)))


def _remarks(network: NetworkScore) -> str:
    names: dict[str, list[str]] = {}
    for name, score in network.scores.items():
        if score.note or not score.ok:
            names.setdefault(score.note if score.ok else score.reason, []).append(name)
    return "; ".join(f"{', '.join(own)}: {remark}" for remark, own in names.items())


def _row(candidate: Candidate, rank: int, by: Criterion) -> RankedNetwork:
    network = candidate.network
    if candidate.utility is None:
        return RankedNetwork(None, None, network)
    return RankedNetwork(
        rank, candidate.utility if isinstance(by, Ensemble) else network.scores[str(by)].value, network
    )


def _agreement(networks: Sequence[NetworkScore], first: str, second: str) -> Agreement:
    pairs = [(network.scores[first], network.scores[second]) for network in networks]
    both = [(one.utility, other.utility) for one, other in pairs if one.ok and other.ok]
    if len(both) < FEWEST_TO_COMPARE:
        return Agreement(first, second, len(both), None, None)
    ones, others = np.array(both).T
    return Agreement(first, second, len(both), finite(spearman(ones, others)), finite(kendall(ones, others)))
