"""What algorithms share in which proxies choose the networks to evaluate: a pool, and its order by a proxy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.measuring import Twin
from firstlight.search.queries import Queries

Numbers = NDArray[np.float64]


def draw_pool(problem: Queries, size: int) -> list[str]:
    """Return `size` different random networks that fit; fewer if there are not as many."""
    if size < problem.budget:
        raise SettingError(
            f"The pool of {size} networks is smaller than the number of queries, {problem.budget}, so there is nothing "
            f"to choose. Use pool={problem.budget} or more, or fewer queries."
        )
    found = [str(architecture) for architecture in itertools.islice(problem.distinct_samples(), size)]
    if len(found) <= problem.budget:
        problem.notes.append(
            f"The pool has only {len(found)} networks for {problem.budget} queries, so all of them are evaluated."
        )
    return found


def draw_more(problem: Queries, size: int) -> list[str]:
    """Return what `size` independent draws from the space bring: different networks that fit, known or not."""
    drawn = dict.fromkeys(problem.space.identity(problem.space.sample(problem.rng)) for _ in range(size))
    return [str(architecture) for architecture in drawn if problem.fits(architecture)]


def best_first(problem: Queries, by: str, networks: Sequence[str], batch_size: int, twin: Twin | None) -> Iterator[str]:
    """Return networks in the order of a proxy or an ensemble, without those that have no score.

    The text decides between equals.
    """
    values = problem.measure(parse_criterion(by), networks, batch_size, twin)
    places = [place for place in range(len(networks)) if not math.isnan(values[place])]
    if not places:
        raise NothingScoredError(
            f"None of {len(networks)} networks has a score by {by}, so it cannot choose among them. Use another proxy; "
            "`firstlight proxies` lists them."
        )
    if len(places) < len(networks):
        problem.notes.append(f"{len(networks) - len(places)} of {len(networks)} networks have no score by {by}.")
    return iter([networks[place] for place in sorted(places, key=lambda p: (-values[p], networks[p]))])
