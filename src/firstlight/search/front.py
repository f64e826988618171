"""Pareto fronts and hypervolumes. A point has a number for each objective, of which higher is better."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def on_front(points: Points) -> NDArray[np.bool_]:
    """Return which points are not dominated by another one; equal points do not dominate each other."""
    import torch
    from botorch.utils.multi_objective.pareto import is_non_dominated  # slow to import

    return np.asarray(is_non_dominated(torch.from_numpy(points), deduplicate=False).numpy(), dtype=bool)


def layers(points: Points) -> NDArray[np.int64]:
    """Return the layer of each point: 0 for the front, 1 for the front of the rest, and so on."""
    found = np.full(len(points), -1)
    for layer in range(len(points)):
        rest = np.flatnonzero(found < 0)
        if not len(rest):
            break
        found[rest[on_front(points[rest])]] = layer
    return found


def crowding(points: Points) -> NDArray[np.float64]:
    """Return the crowding distance of each point of a layer: the span between its neighbors, summed over objectives.

    It is infinite for the first and the last point of any objective.
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
    """Return the volume that is dominated by the points and dominates the reference."""
    import torch
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    better = points[(points > reference).all(axis=1)]
    if not len(better):
        return 0.0
    front = torch.from_numpy(better[on_front(better)])
    return float(Hypervolume(torch.from_numpy(reference)).compute(front))


def hypervolumes(points: Points, counts: Iterable[int]) -> list[float]:
    """Return the hypervolume of the first points for each count, relative to the box that all points span."""
    points = points[:, points.min(axis=0) < points.max(axis=0)]  # objectives in which all are equal do not count
    if not points.size:
        return [1.0 for _ in counts]
    worst, best = points.min(axis=0), points.max(axis=0)
    # slightly below the worst values, so that the ends of the front count too
    reference = np.full(points.shape[1], -1e-3)
    scaled = (points - worst) / (best - worst)
    return [hypervolume(scaled[:count], reference) / (1 + 1e-3) ** points.shape[1] for count in counts]
