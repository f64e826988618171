"""RoBoT: a weighted sum of proxies, whose weights Bayesian optimization tunes by a few evaluations."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.guides import draw_pool
from firstlight.search.queries import Queries
from firstlight.search.surrogate import Surrogate

Numbers = NDArray[np.float64]


@algorithm(reference="He2024robot", needs=("truth",))
def robot(
    problem: Queries,
    *,
    metrics: str = "grad_norm+snip+grasp+fisher+synflow+jacov",
    pool: int = 60_000,
    log: str = "none",
    batch: Annotated[int, BatchSize()] = 64,
) -> None:
    """Choose networks by a weighted sum of proxies, with learned weights from -1 to 1.

        M(A; w) = sum over proxies i of  w_i m_i(A),     m_i scaled to 0..1 over the pool

    A Gaussian process proposes weights by their upper confidence bound and learns the performance of the network that
    is best by them; one that was evaluated before is not evaluated again. After as many proposals as there are queries,
    the queries that are left go to the networks that are best by the best weights.

    The published code has one length scale for all weights and optimizes the bound further; here each weight has its
    own, as in `hnas`.

    Args:
        metrics: Proxies or ensembles, separated by +.
        pool: Number of random networks to choose among; a smaller space is taken as a whole.
        log: Proxies whose logarithm is taken first, separated by +. Published for NAS-Bench-201: grad_norm+snip+fisher.
        batch: Number of inputs in a batch for the proxies.
    """
    names = metrics.split("+")
    if len(set(names)) < len(names):
        raise SettingError(f"robot:metrics is {metrics!r}; name each proxy once.")
    logged = set() if log == "none" else set(log.split("+"))
    if not logged <= set(names):
        raise SettingError(f"robot:log is {log!r}; name proxies of robot:metrics ({', '.join(names)}), or none.")
    texts = draw_pool(problem, pool)
    measured = [problem.measure(parse_criterion(name), texts, batch) for name in names]
    silent = [name for name, values in zip(names, measured, strict=True) if not np.isfinite(values).any()]
    if len(silent) == len(names):
        raise NothingScoredError(f"None of {len(texts)} networks has a score by {metrics}.")
    if silent:
        problem.notes.append(f"No network has a score by {', '.join(silent)}, which count as 0.")
    pairs = zip(names, measured, strict=True)
    scaled = np.stack([scale(logarithm(values) if name in logged else values) for name, values in pairs], axis=1)
    surrogate = Surrogate(len(names), "ucb", problem.rng)
    reached: dict[str, float | None] = {}
    best: tuple[float, Numbers] | None = None
    for _ in range(problem.budget):
        point = surrogate.propose()[0]
        weights = 2 * np.array(point) - 1
        text = texts[best_first(scaled @ weights)[0]]
        if text not in reached:
            (candidate,) = problem.evaluate([problem.space.parse(text)])
            reached[text] = problem.utility(candidate)
            problem.explain(", ".join(f"{weight:+.2f}" for weight in weights), text)
            problem.keep(problem.space.parse(problem.pool.best(1)[0]))
        value = reached[text]
        surrogate.learn(point, value)
        if value is not None and (best is None or value >= best[0]):
            best = value, weights
    final = np.ones(len(names)) if best is None else best[1]
    rest = (texts[place] for place in best_first(scaled @ final) if texts[place] not in reached)
    problem.evaluate(map(problem.space.parse, rest))
    problem.findings["weights"] = dict(zip(names, final.tolist(), strict=True))


def scale(values: Numbers) -> Numbers:
    """Return values scaled to 0..1; alike ones stay as they are, and missing ones become 0."""
    known = values[np.isfinite(values)]
    spread = float(np.ptp(known)) if len(known) else 0.0
    found = (values - known.min()) / spread if spread > 0 else values
    return np.where(np.isfinite(values), found, 0.0)


def logarithm(values: Numbers) -> Numbers:
    """Return the logarithm of positive values; others are missing."""
    return np.log(values, out=np.full_like(values, np.nan), where=values > 0)


def best_first(values: Numbers) -> NDArray[np.intp]:
    """Return places from the highest value to the lowest; among equals the last comes first, as published."""
    return np.argsort(values, kind="stable")[::-1]
