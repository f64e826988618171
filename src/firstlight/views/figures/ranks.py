"""What a study of proxies shows: scores against the truth, how well each ranks, and who agrees with whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, stats

from firstlight.core.errors import SettingError
from firstlight.core.statistics import spearman
from firstlight.views.figures.style import COLOURS, INK, PALE, blank, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = NDArray[np.float64]
# The plane is divided into so many squares each way for the density, which is smoothed over so many of them
SQUARES, SMOOTHED = 64, 1.5


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    low: float
    high: float


def scatter(
    scores: Numbers,
    truth: Numbers,
    score_label: str,
    truth_label: str,
    *,
    ranks: bool = False,
    correlation: float | None = None,
    width: str | float = "column",
) -> Figure:
    """A dot for each network, brighter where many are, and Spearman's correlation: that of the dots unless given.

    `ranks` draws the rank of each instead of its value (n is best), for scores that spread over orders of magnitude.
    """
    both = np.isfinite(scores) & np.isfinite(truth)
    if both.sum() < 2:
        raise SettingError(f"{int(both.sum())} networks have both {score_label} and {truth_label}; a scatter needs 2.")
    x, y = scores[both], truth[both]
    if correlation is None:
        correlation = spearman(x, y)
    if ranks:
        x, y = stats.rankdata(x), stats.rankdata(y)
        score_label, truth_label = f"rank by {score_label}", f"rank by {truth_label}"
    density = _density(x, y)
    order = np.argsort(density)
    with look():
        figure = blank(width, 0.8)
        axes = figure.add_subplot()
        size = float(np.clip(3_000 / len(x), 1.5, 14))
        axes.scatter(x[order], y[order], c=density[order], s=size, cmap="viridis", linewidths=0, rasterized=True)
        axes.set(xlabel=score_label, ylabel=truth_label)
        known = f"Spearman {correlation:.3f}, " if np.isfinite(correlation) else ""
        axes.set_title(f"{known}{len(x):,} networks", loc="left")
    return figure


def _density(x: Numbers, y: Numbers) -> Numbers:
    """How many networks there are around each, on a scale that tells few from some as well as some from many."""
    spans = [(float(v.min()), float(v.max()) if np.ptp(v) > 0 else float(v.min()) + 1.0) for v in (x, y)]
    counts, *edges = np.histogram2d(x, y, SQUARES, spans)
    smooth = ndimage.gaussian_filter(counts, SMOOTHED)
    places = [
        np.clip(np.searchsorted(edge, v, side="right") - 1, 0, SQUARES - 1)
        for edge, v in zip(edges, (x, y), strict=True)
    ]
    return np.log1p(np.maximum(smooth[places[0], places[1]], 0.0))


def bars(entries: Sequence[Bar], label: str, *, width: str | float = "column") -> Figure:
    """A bar for each proxy in the given order, with its interval."""
    if not entries:
        raise SettingError("There is no proxy with a correlation to draw.")
    with look():
        figure = blank(width, 0.25 + 0.055 * len(entries))
        axes = figure.add_subplot()
        places = range(len(entries))
        colours = [COLOURS[0] if entry.value >= 0 else COLOURS[1] for entry in entries]
        axes.barh(places, [entry.value for entry in entries], color=colours, height=0.7)
        for place, entry in zip(places, entries, strict=True):
            axes.plot([entry.low, entry.high], [place, place], color=INK, linewidth=1.0, solid_capstyle="butt")
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.set_yticks(places, [entry.name for entry in entries])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(label)
    return figure


def agreement(names: Sequence[str], values: Numbers, *, width: str | float = "page") -> Figure:
    """Spearman's correlation of each pair of proxies as a colour and a number."""
    count = len(names)
    with look():
        figure = blank(width, 0.85)
        axes = figure.add_subplot()
        image = axes.imshow(values, cmap="RdBu", vmin=-1, vmax=1)
        axes.set_xticks(range(count), names, rotation=55, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(count), names)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        size = float(np.clip(90 / count, 3.5, 8))
        for (row, column), value in np.ndenumerate(values):
            words = f"{value:.2f}" if np.isfinite(value) else "-"
            shade = "white" if abs(value) > 0.6 else INK if np.isfinite(value) else PALE
            axes.text(column, row, words, ha="center", va="center", color=shade, fontsize=size)
        bar = figure.colorbar(image, ax=axes, shrink=0.8, label="Spearman correlation")
        bar.outline.set_visible(False)
    return figure
