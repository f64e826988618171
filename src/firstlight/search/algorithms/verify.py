"""Train what proxies like best: the plain alternatives to a search that learns from its answers."""

from __future__ import annotations

from firstlight.core.errors import SettingError
from firstlight.search.algorithm import algorithm
from firstlight.search.guides import best_first, draw_pool
from firstlight.search.measuring import Twin
from firstlight.search.queries import Queries


@algorithm(needs=("truth",))
def verify(
    problem: Queries,
    *,
    by: str = "log_rank(params,dextr,synflow)",
    pool: int = 2000,
    batch: int = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """Ask about the best of a pool by a proxy or an ensemble: the first says how good its choice is, the rest guard it.

    All queries are known before the first answer, so that every worker is busy. Proxies see batches of `batch` inputs;
    `ntk_condition` is that of the `narrow` twin, of `channels` channels, with 64 images of `side` pixels.
    """
    networks = draw_pool(problem, pool)
    chosen = best_first(problem, by, networks, batch, Twin(channels, side) if narrow else None)
    problem.score_all(map(problem.space.parse, chosen))


@algorithm(needs=("truth",))
def portfolio(
    problem: Queries,
    *,
    by: str = "independence+synflow+ntk_condition",
    pool: int = 2000,
    batch: int = 64,
    narrow: bool = True,
    channels: int = 4,
    side: int = 16,
) -> None:
    """Several proxies in turn name the best network that was not named yet: a bad one costs no more than its share.

    `by` has them separated by +; ensembles are welcome. The other settings are those of `verify`.
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
    problem.score_all(map(problem.space.parse, named))
