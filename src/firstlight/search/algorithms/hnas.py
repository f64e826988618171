"""HNAS: a training-free objective with two free numbers, which Bayesian optimisation tunes by a few real answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.algorithm import algorithm
from firstlight.search.guides import draw_pool
from firstlight.search.measuring import OF_THE_TWIN, Twin
from firstlight.search.queries import Queries
from firstlight.search.surrogate import Acquisition, Surrogate

Numbers = NDArray[np.float64]
Form = Literal["rank", "paper"]
TINY = 1e-6
# nu of the paper's form is a share of this percentile of the pool's M, unless a scale is given
USUAL_SCALE = 95
# As many of the queries are spent on fixed points first
FIRST_SHARE, MOST_FIRST = 0.25, 10
# How finely the report draws what was learned
GRID = 21


@algorithm(reference="Shu2022hnas", needs=("truth",))
def hnas(
    problem: Queries,
    *,
    metric: str = "ntk_trace",
    pool: int = 2000,
    form: Form = "rank",
    scale: float = 0.0,
    lowest: float = -4.0,
    highest: float = 0.0,
    acquisition: Acquisition = "ei",
    probes: int = 0,
    together: int = 1,
    batch: int = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """A proxy M and the condition kappa of the tangent kernel choose networks, by two numbers that are learned.

        paper: the network of least  mu |M^2 - nu^2| + kappa / M                 nu = u * scale, mu = 10^c
        rank:  the network of least  10^(c/2 + 1) |R(M) - u| + R(kappa / M)      R: place in the pool, 0 to 1

    u in [0, 1] and c in [`lowest`, `highest`] are proposed by a Gaussian process (`acquisition` ei or ucb), after a
    quarter of the queries, ten at most, at even u and the middle c (`probes` of them, if given). Each pair stands for
    the network of the `pool` that is best by it and not yet asked about, and what that one reaches is what the process
    learns. `metric` is M, any proxy that is the better the higher; of one with both signs its size counts. `scale` is
    the 95th percentile of M unless given. `together` networks are asked about at a time.

    M is measured on batches of `batch` inputs; kappa on the `narrow` twin of the network, of so few `channels` and with
    64 images of `side` pixels, which tells more than that of the network itself.
    """
    candidates = measured(problem, metric, pool, batch, Twin(channels, side) if narrow else None)
    bound = RankBound(candidates) if form == "rank" else PaperBound(candidates, scale or candidates.usual_scale)
    surrogate = Surrogate(2, acquisition, problem.rng)
    learned = _Learned(problem, surrogate, lowest, highest)
    first = probes or max(1, min(int(FIRST_SHARE * problem.budget), MOST_FIRST))
    points: list[tuple[float, ...]] = [(float(u), 0.5) for u in np.linspace(0, 1, first)]
    asked: set[str] = set()
    while problem.remaining and len(asked) < len(candidates.texts):
        chosen: dict[str, tuple[float, ...]] = {}
        for point in points[: problem.remaining]:
            order = bound.order(*learned.numbers(point))
            text = next((text for text in order if text not in asked), None)
            if text is not None:
                chosen[text] = point
                asked.add(text)
        for candidate in problem.score_all(map(problem.space.parse, chosen)):
            text = candidate.network.architecture
            learned.add(chosen[text], text, problem.worth(candidate))
        points = surrogate.propose(together) if problem.remaining else []
    problem.findings["hnas"] |= learned.expected()


@dataclass(frozen=True)
class Candidates:
    """The networks with a signal, and of each M and kappa; one whose kappa is no number of use has an infinite one."""

    texts: Sequence[str]
    m: Numbers
    kappa: Numbers

    @property
    def ratio(self) -> Numbers:
        return self.kappa / (self.m + TINY)

    @property
    def usual_scale(self) -> float:
        return float(np.percentile(self.m, USUAL_SCALE))


def measured(problem: Queries, metric: str, pool: int, batch_size: int, twin: Twin | None) -> Candidates:
    """What is left of a pool when networks without a signal are left out, which have no gradient and M = 0."""
    request = ProxyRequest.parse(metric)
    if not request.proxy.higher_is_better:
        raise SettingError(f"hnas:metric is {metric!r}, which is the better the lower. Name one that grows with merit.")
    texts = draw_pool(problem, pool)
    values = problem.measure(request, texts, batch_size, twin)
    kappa = -problem.measure(ProxyRequest.parse(OF_THE_TWIN), texts, batch_size, twin)  # the better the lower
    known = np.isfinite(values) & (values != 0)
    if not known.any():
        raise NothingScoredError(f"None of the {len(texts)} networks of the pool has a signal by {metric}.")
    _say(problem, int((~known).sum()), f"of {len(texts)} networks of the pool have no signal and are left out")
    if not (values[known] > 0).any():
        raise SettingError(f"hnas:metric is {metric!r}, which is negative throughout. Name one that is a size.")
    if (values[known] < 0).any():
        problem.notes.append(f"{metric} has both signs in the pool: its size counts.")
    useless = known & ~(np.isfinite(kappa) & (kappa > 0))
    _say(problem, int(useless.sum()), "networks have no condition number of use and count as the worst by it")
    kappa = np.where(useless, math.inf, kappa)
    places = np.flatnonzero(known)
    return Candidates([texts[place] for place in places], np.abs(values[places]), kappa[places])


def _say(problem: Queries, count: int, what: str) -> None:
    if count:
        problem.notes.append(f"{count} {what}.")


@dataclass(frozen=True)
class PaperBound:
    """mu |M^2 - nu^2| + kappa / M with nu = u * scale."""

    candidates: Candidates
    scale: float

    def order(self, u: float, exponent: float) -> list[str]:
        """Least first; their text decides between equals."""
        m = self.candidates.m
        return _sorted(self.candidates, 10**exponent * np.abs(m**2 - (u * self.scale) ** 2) + self.candidates.ratio)


@dataclass(frozen=True)
class RankBound:
    """10^(c/2 + 1) |R(M) - u| + R(kappa / M): needs no scale, so that any metric will do."""

    candidates: Candidates

    def order(self, u: float, exponent: float) -> list[str]:
        distance = np.abs(_places(self.candidates.m) - u)
        return _sorted(self.candidates, 10 ** (exponent / 2 + 1) * distance + _places(self.candidates.ratio))


def _places(values: Numbers) -> Numbers:
    from scipy.stats import rankdata  # slow to import

    found: Numbers = (rankdata(values) - 1) / max(len(values) - 1, 1)
    return found


def _sorted(candidates: Candidates, values: Numbers) -> list[str]:
    return [candidates.texts[place] for place in np.lexsort((np.array(candidates.texts), values))]


class _Learned:
    """Every pair of numbers that was tried, and what the network reached that it stands for."""

    def __init__(self, problem: Queries, surrogate: Surrogate, lowest: float, highest: float) -> None:
        if not lowest < highest:
            raise SettingError(f"hnas:lowest is {lowest:g} and highest {highest:g}; lowest must be less.")
        self._problem, self._surrogate = problem, surrogate
        self._lowest, self._highest = lowest, highest
        self._answers: list[dict[str, Any]] = []

    def numbers(self, point: Sequence[float]) -> tuple[float, float]:
        """u and the exponent of mu, for a point of the unit square."""
        return point[0], self._lowest + point[1] * (self._highest - self._lowest)

    def add(self, point: Sequence[float], text: str, reached: float | None) -> None:
        u, exponent = self.numbers(point)
        self._answers.append({"u": u, "exponent": exponent, "architecture": text, "reached": reached})
        self._surrogate.learn(point, reached)
        self._problem.tell(f"u {u:.2f}, mu 10^{exponent:.1f}", text)
        self._problem.findings["hnas"] = {"answers": self._answers}
        self._problem.keep(self._problem.space.parse(self._problem.pool.best(1)[0]))

    def expected(self) -> dict[str, Any]:
        """What the process expects for a grid of numbers, a row for each exponent."""
        shares = np.linspace(0, 1, GRID)
        grid = [(float(u), float(c)) for c in shares for u in shares]
        exponents = [self.numbers((0.0, float(c)))[1] for c in shares]
        surface = self._surrogate.means(grid).reshape(GRID, GRID).tolist()
        return {"u": shares.tolist(), "exponents": exponents, "surface": surface}
