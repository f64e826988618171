"""Trade-offs: which networks no other one beats in everything, and how much of all that is possible they reach.

A point has one number for each thing that is wanted, and more is better in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def on_front(points: Points) -> NDArray[np.bool_]:
    """Which points no other one reaches in everything and beats in something; equal ones stand side by side."""
    import torch
    from botorch.utils.multi_objective.pareto import is_non_dominated  # slow to import

    return np.asarray(is_non_dominated(torch.from_numpy(points), deduplicate=False).numpy(), dtype=bool)


def layers(points: Points) -> NDArray[np.int64]:
    """The number of each point's layer: 0 for the front, 1 for the front of those behind it, and so on."""
    found = np.full(len(points), -1)
    for layer in range(len(points)):
        rest = np.flatnonzero(found < 0)
        if not len(rest):
            break
        found[rest[on_front(points[rest])]] = layer
    return found


def crowding(points: Points) -> NDArray[np.float64]:
    """How much room each point of one layer has: the span between its neighbours, summed over everything wanted.

    The first and the last by anything have all the room there is.
    """
    room = np.zeros(len(points))
    for column in points.T:
        order = np.argsort(column, kind="stable")
        span = column[order[-1]] - column[order[0]]
        room[order[[0, -1]]] = np.inf
        if span > 0:
            room[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / span
    return room


def hypervolume(points: Points, reference: Points) -> float:
    """The volume of all that is worse than some point and better than the reference."""
    import torch
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    better = points[(points > reference).all(axis=1)]
    if not len(better):
        return 0.0
    front = torch.from_numpy(better[on_front(better)])
    return float(Hypervolume(torch.from_numpy(reference)).compute(front))


def hypervolumes(points: Points, counts: Iterable[int]) -> list[float]:
    """That of the first so many points, in the box from the worst to the best of all in everything, which counts 1."""
    points = points[:, points.min(axis=0) < points.max(axis=0)]  # where all are equal, nothing can be reached
    if not points.size:
        return [1.0 for _ in counts]
    worst, best = points.min(axis=0), points.max(axis=0)
    # what is as bad as the worst by one thing has no volume: a hair's breadth beyond it, the front's ends count too
    reference = np.full(points.shape[1], -1e-3)
    scaled = (points - worst) / (best - worst)
    return [hypervolume(scaled[:count], reference) / (1 + 1e-3) ** points.shape[1] for count in counts]
