"""Charts of a study of proxies: scores against the truth, how well each proxy ranks, and which proxies agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from firstlight.views.charts.description import Bar, Bars, HeatMap, Point, Scatter

Numbers = NDArray[np.float64]


def proxy_scatter(
    proxy: str,
    target: str,
    scores: Numbers,
    truth: Numbers,
    *,
    correlation: float | None = None,
    ranks: bool = False,
    rows: Sequence[int] | None = None,
    columns: Sequence[int] = (),
) -> Scatter:
    """Describe a proxy's scores against the truth, a dot for each network that has both.

    Args:
        proxy: Name of the proxy.
        target: Name of the true values.
        scores: What the proxy says of each network, higher being better; shape (networks,).
        truth: The true value of each network; shape (networks,).
        correlation: Spearman's correlation for the title. Default: that of the dots.
        ranks: Whether to draw ranks instead of values (n is best), for scores of very different sizes.
        rows: For each network, its row in the page's table.
        columns: Columns of that table that tooltips show.

    Returns:
        The chart.
    """
    known = np.flatnonzero(np.isfinite(scores) & np.isfinite(truth))
    x, y = scores[known], truth[known]
    if correlation is None and len(known) > 1 and min(np.ptp(x), np.ptp(y)) > 0:
        correlation = float(stats.spearmanr(x, y).statistic)
    x_label, y_label = f"{proxy} (higher is better)", target  # a score of which less is better is negated
    if ranks:
        x, y = stats.rankdata(x), stats.rankdata(y)
        x_label, y_label = f"rank by {x_label}", f"rank by {y_label}"
    shown = f"Spearman {correlation:.3f}, " if correlation is not None and np.isfinite(correlation) else ""
    places = zip(x.tolist(), y.tolist(), known.tolist(), strict=True)
    return Scatter(
        x_label,
        y_label,
        [Point(a, b, row=None if rows is None else rows[place]) for a, b, place in places],
        title=f"{shown}{len(known):,}{f' of {len(scores):,}' if len(known) < len(scores) else ''} networks",
        by_density=True,
        columns=columns,
    )


def correlation_bars(target: str, bars: Sequence[Bar]) -> Bars:
    """Describe how well each proxy ranks, with 95% intervals."""
    return Bars(f"Spearman correlation with {target}", bars)


def agreement_map(names: Sequence[str], values: Numbers) -> HeatMap:
    """Describe which proxies rank networks alike; `values` has the correlation of each pair."""
    table: list[list[float | None]] = values.tolist()
    return HeatMap("Spearman correlation between proxies", "Spearman correlation", names, names, table)
