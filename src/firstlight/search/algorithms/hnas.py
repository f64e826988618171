"""HNAS: a training-free objective with two parameters, which Bayesian optimization tunes by a few evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.guides import draw_pool
from firstlight.search.measuring import OF_THE_TWIN, Twin
from firstlight.search.queries import Queries
from firstlight.search.surrogate import Acquisition, Surrogate

Numbers = NDArray[np.float64]
Form = Literal["rank", "paper"]
TINY = 1e-6
# Without a scale, nu of the paper's form is a share of this percentile of the pool's M.
USUAL_SCALE = 95
# This share of the queries is spent on fixed points first, and at most this many.
FIRST_SHARE, MOST_FIRST = 0.25, 10
# The resolution of the surface in the report.
GRID = 21


@algorithm(reference="Shu2022hnas", needs=("truth",), report="hnas")
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
    batch: Annotated[int, BatchSize()] = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """Choose networks by a proxy M and the condition number kappa of the tangent kernel, with two learned parameters.

        paper: the network of least  mu |M^2 - nu^2| + kappa / M                 nu = u * scale, mu = 10^c
        rank:  the network of least  10^(c/2 + 1) |R(M) - u| + R(kappa / M)      R: rank in the pool, 0 to 1

    A Gaussian process proposes u in [0, 1] and c. Each pair stands for the network of the pool that is best by it and
    not yet evaluated; the process learns from its performance. The first queries are spent at evenly spaced u and the
    middle c. Of a proxy M with both signs, the absolute value counts.

    Args:
        metric: Proxy M; higher must be better.
        pool: Number of random networks in the pool.
        form: The `paper` formula, or the same with `rank`s, which needs no scale.
        scale: Largest nu of the paper's form. Default: the 95th percentile of M.
        lowest: Smallest c.
        highest: Largest c.
        acquisition: Acquisition function: `ei` (expected improvement) or `ucb` (upper confidence bound).
        probes: Number of queries at fixed points. Default: a quarter of the queries, at most 10.
        together: Number of networks that are evaluated at a time.
        batch: Inputs in a batch for M.
        narrow: Measure kappa on a narrow twin of each network, with 64 images, where it is more telling.
        channels: Channels of the twin.
        side: Width and height of the twin's images, in pixels.
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
        for candidate in problem.evaluate(map(problem.space.parse, chosen)):
            text = candidate.network.architecture
            learned.add(chosen[text], text, problem.utility(candidate))
        points = surrogate.propose(together) if problem.remaining else []
    problem.findings |= learned.expected()


@dataclass(frozen=True)
class Candidates:
    """The networks with a signal, with M and kappa of each; kappa is infinite where it cannot be used."""

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
    """Draw a pool and measure it. Networks without a signal, which have no gradient and M = 0, are left out."""
    request = ProxyRequest.parse(metric)
    if not request.proxy.higher_is_better:
        raise SettingError(f"hnas:metric is {metric!r}, of which lower is better. Name another proxy.")
    texts = draw_pool(problem, pool)
    values = problem.measure(request, texts, batch_size, twin)
    kappa = -problem.measure(ProxyRequest.parse(OF_THE_TWIN), texts, batch_size, twin)  # lower is better
    known = np.isfinite(values) & (values != 0)
    if not known.any():
        raise NothingScoredError(f"None of the {len(texts)} networks of the pool has a signal by {metric}.")
    _say(problem, int((~known).sum()), f"of {len(texts)} networks of the pool have no signal and are left out")
    if not (values[known] > 0).any():
        raise SettingError(f"hnas:metric is {metric!r}, which is negative for all networks. Name another proxy.")
    if (values[known] < 0).any():
        problem.notes.append(f"{metric} has both signs in the pool: its absolute value counts.")
    useless = known & ~(np.isfinite(kappa) & (kappa > 0))
    _say(problem, int(useless.sum()), "networks have no usable condition number and count as the worst by it")
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
        """Return the texts, least first; the text decides between equals."""
        m = self.candidates.m
        return _sorted(self.candidates, 10**exponent * np.abs(m**2 - (u * self.scale) ** 2) + self.candidates.ratio)


@dataclass(frozen=True)
class RankBound:
    """10^(c/2 + 1) |R(M) - u| + R(kappa / M): needs no scale, so that any metric works."""

    candidates: Candidates

    def order(self, u: float, exponent: float) -> list[str]:
        """Return the texts, least first; the text decides between equals."""
        distance = np.abs(_places(self.candidates.m) - u)
        return _sorted(self.candidates, 10 ** (exponent / 2 + 1) * distance + _places(self.candidates.ratio))


def _places(values: Numbers) -> Numbers:
    from scipy.stats import rankdata  # slow to import

    found: Numbers = (rankdata(values) - 1) / max(len(values) - 1, 1)
    return found


def _sorted(candidates: Candidates, values: Numbers) -> list[str]:
    return [candidates.texts[place] for place in np.lexsort((np.array(candidates.texts), values))]


class _Learned:
    """Every pair of parameters that was tried, and the performance of its network."""

    def __init__(self, problem: Queries, surrogate: Surrogate, lowest: float, highest: float) -> None:
        if not lowest < highest:
            raise SettingError(f"hnas:lowest is {lowest:g} and highest {highest:g}; lowest must be less.")
        self._problem, self._surrogate = problem, surrogate
        self._lowest, self._highest = lowest, highest
        self._answers: list[dict[str, Any]] = []

    def numbers(self, point: Sequence[float]) -> tuple[float, float]:
        """Return u and the exponent of mu for a point of the unit square."""
        return point[0], self._lowest + point[1] * (self._highest - self._lowest)

    def add(self, point: Sequence[float], text: str, reached: float | None) -> None:
        u, exponent = self.numbers(point)
        self._answers.append({"u": u, "exponent": exponent, "architecture": text, "reached": reached})
        self._surrogate.learn(point, reached)
        self._problem.explain(f"u {u:.2f}, mu 10^{exponent:.1f}", text)
        self._problem.findings["answers"] = self._answers
        self._problem.keep(self._problem.space.parse(self._problem.pool.best(1)[0]))

    def expected(self) -> dict[str, Any]:
        """Return what the process expects on a grid of parameters, a row for each exponent."""
        shares = np.linspace(0, 1, GRID)
        grid = [(float(u), float(c)) for c in shares for u in shares]
        exponents = [self.numbers((0.0, float(c)))[1] for c in shares]
        surface = self._surrogate.means(grid).reshape(GRID, GRID).tolist()
        return {"u": shares.tolist(), "exponents": exponents, "surface": surface}
