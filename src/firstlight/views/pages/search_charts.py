"""The charts of a search: scores against costs and over time, with a limited number of dots."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from firstlight.search.result import front_over_time
from firstlight.storage.records import Trial
from firstlight.views.charts.description import Line, Lines, Point, Scatter
from firstlight.views.charts.searches import SEARCH_LABELS, cost_scatter
from firstlight.views.charts.svg import draw_svg

# Most dots of one chart, and of all charts of a page; more make the page slow
MOST_DOTS, ALL_DOTS = 3_000, 9_000
# Number of best networks that are always drawn
BEST_KEPT = 20
# A network is not drawn if it is this many times as far below the median as the best is above it
FAR_BELOW = 3.0


@dataclass(frozen=True)
class Drawn:
    """The networks that charts show, and how many they leave out: below `floor`, or to limit the number of dots."""

    trials: Sequence[Trial]
    below: int
    floor: float
    left_out: int


def choose_drawn(
    scored: Sequence[Trial], ranking: Sequence[Trial], front: Sequence[Trial], *, charts: int = 2
) -> Drawn:
    """Choose the networks for a number of charts that all show the same ones."""
    most = min(MOST_DOTS, ALL_DOTS // charts)
    floor = lowest_drawn([trial.utility or 0.0 for trial in scored])
    front = front[: most // 2]  # with many costs, most networks are on the front
    on_front = {trial.architecture for trial in front}
    inside = [trial for trial in scored if (trial.utility or 0.0) >= floor or trial.architecture in on_front]
    kept = _thinned(inside, [*ranking[:BEST_KEPT], *front], most)
    return Drawn(kept, len(scored) - len(inside), floor, len(inside) - len(kept))


def lowest_drawn(utilities: Sequence[float]) -> float:
    """Return the lowest utility to draw, so that a few networks with very low scores do not squeeze the others."""
    if not utilities:
        return -math.inf
    best, middle = max(utilities), float(np.median(utilities))
    return middle - FAR_BELOW * (best - middle) if best > middle else -math.inf


def _thinned(scored: Sequence[Trial], always: Sequence[Trial], most: int) -> Sequence[Trial]:
    """Keep at most about `most` networks: some always, every one that was the best so far, and others evenly."""
    if len(scored) <= most:
        return scored
    kept = {trial.architecture for trial in always}
    step = len(scored) // (most - len(kept)) + 1
    record = -math.inf
    for place, trial in enumerate(scored):
        if (trial.utility or 0.0) > record or place % step == 0:
            kept.add(trial.architecture)
        record = max(record, trial.utility or 0.0)
    return [trial for trial in scored if trial.architecture in kept]


def against_cost(
    cost: str, trials: Sequence[Trial], rows: Mapping[str, int], chosen: Collection[str], utility_label: str
) -> Markup:
    """Draw score against cost; the front or the best network stands out."""
    chart = cost_scatter(
        cost,
        [trial.amount(cost) for trial in trials],
        [trial.utility or 0.0 for trial in trials],
        [trial.architecture in chosen for trial in trials],
        utility_label,
        rows=[rows[trial.architecture] for trial in trials],
    )
    return draw_svg(chart)


def over_time(trials: Sequence[Trial], rows: Mapping[str, int], best: Trial | None, utility_label: str) -> Markup:
    """Draw score against the seconds of the search, with the best so far."""
    points = [
        Point(trial.elapsed, trial.utility or 0.0, chosen=trial is best, row=rows[trial.architecture])
        for trial in trials
    ]
    return draw_svg(Scatter(SEARCH_LABELS["seconds"], utility_label, points, with_record=True))


def front_growth(trials: Sequence[Trial], costs: Sequence[str]) -> Markup:
    """Draw the hypervolume of the front against the networks scored."""
    return draw_svg(Lines("networks scored", "hypervolume", [Line("front", front_over_time(trials, costs))]))
