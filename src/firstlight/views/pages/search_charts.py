"""The charts of a search: scores against costs and over time, with no more dots than a page can bear."""

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

# More than these make a page slow: in one chart, and in all of a page
MOST_DOTS, ALL_DOTS = 3_000, 9_000
# Of the best, all are drawn
BEST_KEPT = 20
# How many times as far below the median as the best is above it, before a network would squeeze all others together
FAR_BELOW = 3.0


@dataclass(frozen=True)
class Drawn:
    """The networks that charts show, and how many have a score but no place: below the frame, or thinned out."""

    trials: Sequence[Trial]
    below: int
    floor: float
    left_out: int


def choose_drawn(
    scored: Sequence[Trial], ranking: Sequence[Trial], front: Sequence[Trial], *, charts: int = 2
) -> Drawn:
    """For so many charts that show the same networks."""
    most = min(MOST_DOTS, ALL_DOTS // charts)
    floor = lowest_drawn([trial.utility or 0.0 for trial in scored])
    front = front[: most // 2]  # with many costs, most networks are on it
    on_front = {trial.architecture for trial in front}
    inside = [trial for trial in scored if (trial.utility or 0.0) >= floor or trial.architecture in on_front]
    kept = _thinned(inside, [*ranking[:BEST_KEPT], *front], most)
    return Drawn(kept, len(scored) - len(inside), floor, len(inside) - len(kept))


def lowest_drawn(utilities: Sequence[float]) -> float:
    """Some networks score next to nothing, such as those whose output hangs on no input: they are not drawn."""
    if not utilities:
        return -math.inf
    best, middle = max(utilities), float(np.median(utilities))
    return middle - FAR_BELOW * (best - middle) if best > middle else -math.inf


def _thinned(scored: Sequence[Trial], always: Sequence[Trial], most: int) -> Sequence[Trial]:
    """As many as a page can show: those that always are, every one that was the best so far, and others evenly."""
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
