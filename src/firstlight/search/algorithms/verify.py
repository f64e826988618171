"""Evaluate the networks that proxies rank highest: simple alternatives to a search that learns from evaluations."""

from __future__ import annotations

from typing import Annotated

from firstlight.core.errors import SettingError
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.guides import best_first, draw_pool
from firstlight.search.measuring import Twin
from firstlight.search.queries import Queries


@algorithm(needs=("truth",))
def verify(
    problem: Queries,
    *,
    by: str = "log_rank(params,dextr,synflow)",
    pool: int = 2000,
    batch: Annotated[int, BatchSize()] = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """Evaluate the networks of a pool that are best by a proxy or an ensemble.

    All queries are known in advance, so that no worker is idle.

    Args:
        by: Proxy or ensemble that ranks the pool.
        pool: Number of random networks in the pool.
        batch: Number of inputs in a batch for the proxies.
        narrow: Measure `ntk_condition` on a narrow twin of each network, with 64 images.
        channels: Channels of the twin.
        side: Width and height of the twin's images, in pixels.
    """
    networks = draw_pool(problem, pool)
    chosen = best_first(problem, by, networks, batch, Twin(channels, side) if narrow else None)
    problem.evaluate(map(problem.space.parse, chosen))


@algorithm(needs=("truth",))
def portfolio(
    problem: Queries,
    *,
    by: str = "independence+synflow+ntk_condition",
    pool: int = 2000,
    batch: Annotated[int, BatchSize()] = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """Evaluate the networks of a pool that are best by several proxies in turn: a bad proxy costs only its share.

    Args:
        by: Proxies or ensembles that rank the pool, separated by +.
        pool: Number of random networks in the pool.
        batch: Number of inputs in a batch for the proxies.
        narrow: Measure `ntk_condition` on a narrow twin of each network, with 64 images.
        channels: Channels of the twin.
        side: Width and height of the twin's images, in pixels.
    """
    names = by.split("+")
    if len(set(names)) < 2:
        raise SettingError(f"portfolio:by is {by!r}; name two or more proxies, such as independence+synflow.")
    networks = draw_pool(problem, pool)
    twin = Twin(channels, side) if narrow else None
    orders = [best_first(problem, name, networks, batch, twin) for name in names]
    named: dict[str, None] = {}
    while orders and len(named) < problem.budget:
        for order in list(orders):
            text = next((text for text in order if text not in named), None)
            if text is None:
                orders.remove(order)
            else:
                named[text] = None
    problem.evaluate(map(problem.space.parse, named))
