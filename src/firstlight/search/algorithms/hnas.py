"""HNAS: a training-free objective with two parameters, which Bayesian optimization tunes by a few evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.bounds import Candidates, Form, best_first, bound_of
from firstlight.search.guides import draw_more, draw_pool
from firstlight.search.measuring import OF_THE_TWIN, Twin
from firstlight.search.queries import Queries
from firstlight.search.surrogate import Acquisition, Surrogate

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
    growing: bool = False,
    form: Form = "paper",
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

        paper:    the network of least  kappa / M + mu (M^2 - nu)^2                 mu = 10^c, nu = u * scale^2
        official: the network of least  kappa / M + mu |M^2 - nu^2|                 mu = 10^c, nu = u * scale
        rank:     the network of least  R(kappa / M) + 10^(c/2 + 1) |R(M) - u|      R: rank in the pool, 0 to 1

    A Gaussian process proposes u in [0, 1] and c. Each pair stands for the network of the pool that is best by it and
    not yet evaluated; the process learns from its performance. The first queries are spent at evenly spaced u and the
    middle c. Of a proxy M with both signs, the absolute value counts.

    Args:
        metric: Proxy M; higher must be better.
        pool: Number of random networks in the pool.
        growing: Draw as many networks again before each query and add them to the pool, as the paper does on
            NAS-Bench-201. By default, the pool is drawn once, as on DARTS.
        form: The formula of the `paper` (Eq. 7), that of the `official` code, or the same with `rank`s, which needs no
            scale.
        scale: Scale of M in nu. Default: the 95th percentile of M in the first pool.
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
    measured = MeasuredPool(problem, metric, batch, Twin(channels, side) if narrow else None)
    fresh = _draws(problem, pool, growing)
    measured.add(next(fresh))
    bound = bound_of(form, scale or measured.candidates.usual_scale)
    surrogate = Surrogate(2, acquisition, problem.rng)
    learned = _Learned(problem, surrogate, lowest, highest)
    first = probes or max(1, min(int(FIRST_SHARE * problem.budget), MOST_FIRST))
    points: list[tuple[float, ...]] = [(float(u), 0.5) for u in np.linspace(0, 1, first)]
    asked: set[str] = set()
    while problem.remaining and len(asked) < len(measured.candidates.texts):
        chosen: dict[str, tuple[float, ...]] = {}
        for point in points[: problem.remaining]:
            if asked:
                measured.add(next(fresh))
            order = best_first(bound, measured.candidates, *learned.numbers(point))
            text = next((text for text in order if text not in asked), None)
            if text is not None:
                chosen[text] = point
                asked.add(text)
        for candidate in problem.evaluate(map(problem.space.parse, chosen)):
            text = candidate.network.architecture
            learned.add(chosen[text], text, problem.utility(candidate))
        points = surrogate.propose(together) if problem.remaining else []
    measured.remark()
    problem.findings |= learned.expected()


def _draws(problem: Queries, pool: int, growing: bool) -> Iterator[list[str]]:
    """Yield the networks that join the pool before each query."""
    yield draw_pool(problem, pool)
    while True:
        yield draw_more(problem, pool) if growing else []


class MeasuredPool:
    """A pool of networks with M and kappa. Networks without a signal, which have no gradient and M = 0, are left out.

    Args:
        problem: The search, which measures.
        metric: The proxy M.
        batch_size: Inputs in a batch for M.
        twin: The narrow twin on which kappa is measured, if any.

    Attributes:
        candidates: The networks with a signal.
    """

    def __init__(self, problem: Queries, metric: str, batch_size: int, twin: Twin | None) -> None:
        self._problem, self._metric, self._batch_size, self._twin = problem, metric, batch_size, twin
        self._request = ProxyRequest.parse(metric)
        if not self._request.proxy.higher_is_better:
            raise SettingError(f"hnas:metric is {metric!r}, of which lower is better. Name another proxy.")
        self._seen: set[str] = set()
        self._silent, self._useless, self._both_signs = 0, 0, False
        self.candidates = Candidates([], np.empty(0), np.empty(0))

    def add(self, texts: Sequence[str]) -> None:
        """Measure networks that are not in the pool yet, and add them.

        Raises:
            NothingScoredError: If no network of the pool has a signal.
            SettingError: If M is negative for all networks.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._seen]
        if not new:
            return
        self._seen.update(new)
        values = self._problem.measure(self._request, new, self._batch_size, self._twin)
        kappa = -self._problem.measure(ProxyRequest.parse(OF_THE_TWIN), new, self._batch_size, self._twin)
        known = np.isfinite(values) & (values != 0)
        self._silent += int((~known).sum())
        if not known.any() and not len(self.candidates.texts):
            raise NothingScoredError(f"None of the {len(new)} networks of the pool has a signal by {self._metric}.")
        if known.any() and not (values[known] > 0).any() and not len(self.candidates.texts):
            raise SettingError(
                f"hnas:metric is {self._metric!r}, which is negative for all networks. Name another proxy."
            )
        self._both_signs |= bool((values[known] < 0).any())
        useless = known & ~(np.isfinite(kappa) & (kappa > 0))
        self._useless += int(useless.sum())
        kappa = np.where(useless, math.inf, kappa)
        places = np.flatnonzero(known)
        more = Candidates([new[place] for place in places], np.abs(values[places]), kappa[places])
        self.candidates = self.candidates.with_more(more)

    def remark(self) -> None:
        """Note what the user should know about the pool."""
        notes = self._problem.notes
        if self._silent:
            notes.append(f"{self._silent} of {len(self._seen)} networks of the pool have no signal and are left out.")
        if self._both_signs:
            notes.append(f"{self._metric} has both signs in the pool: its absolute value counts.")
        if self._useless:
            notes.append(f"{self._useless} networks have no usable condition number and count as the worst by it.")


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
