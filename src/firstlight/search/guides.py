"""What algorithms share that let proxies choose which networks are trained: a pool, and its order by a proxy."""

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
    """Different random networks within the limits whose truth is known; as many as there are, if that is fewer."""
    if size < problem.budget:
        raise SettingError(
            f"A pool of {size} networks is smaller than the {problem.budget} queries, which leaves nothing to choose. "
            f"Take pool={problem.budget} or more, or fewer queries."
        )
    found = [str(architecture) for architecture in itertools.islice(problem.distinct_samples(), size)]
    if len(found) <= problem.budget:
        problem.notes.append(
            f"There are {len(found)} networks to choose from, and {problem.budget} queries: all are asked about."
        )
    return found


def best_first(problem: Queries, by: str, networks: Sequence[str], batch_size: int, twin: Twin | None) -> Iterator[str]:
    """In the order of a proxy or an ensemble, without those that have no score; their text decides between equals."""
    values = problem.measure(parse_criterion(by), networks, batch_size, twin)
    places = [place for place in range(len(networks)) if not math.isnan(values[place])]
    if not places:
        raise NothingScoredError(f"{by} gives none of {len(networks)} networks a score, and cannot choose among them.")
    if len(places) < len(networks):
        problem.notes.append(f"{len(networks) - len(places)} of {len(networks)} networks have no score by {by}.")
    return iter([networks[place] for place in sorted(places, key=lambda p: (-values[p], networks[p]))])
