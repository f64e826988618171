"""What searches do: how they come on, which networks no other beats, and what HNAS expects where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import SettingError, StoreError
from firstlight.search.curves import Curve
from firstlight.views.figures.style import COLOURS, INK, PALE, blank, look, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = NDArray[np.float64]


def curves(entries: Sequence[Curve], x_label: str, y_label: str, *, width: str | float = "column") -> Figure:
    """A line for each method, and a band of one deviation over its seeds."""
    if not entries:
        raise SettingError(f"Nothing is known of {y_label} against {x_label}, so that there is no line to draw.")
    with look():
        figure = blank(width, 0.75)
        axes = figure.add_subplot()
        for entry, (colour, dashes, mark) in zip(entries, styles(), strict=False):  # styles never end
            x, mean, deviation = (np.array(column) for column in zip(*entry.points, strict=True))
            axes.fill_between(x, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
            alone = mark if len(x) == 1 else None
            axes.plot(x, mean, color=colour, linestyle=dashes, marker=alone, label=entry.name)
        axes.set(xlabel=x_label, ylabel=y_label)
        if len(entries) > 1:
            axes.legend(loc="best")
        seeds = {entry.seeds for entry in entries}
        if seeds != {1}:
            several = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
            axes.set_title(f"mean ± deviation over {several} seeds", loc="left")
    return figure


def front(
    costs: Numbers,
    scores: Numbers,
    chosen: NDArray[np.bool_],
    cost_label: str,
    score_label: str,
    *,
    width: str | float = "column",
) -> Figure:
    """A dot for each network; those that are `chosen` stand out and are joined in steps, as no other one beats them."""
    known = np.isfinite(costs) & np.isfinite(scores)
    if not known.any():
        raise SettingError(f"No network has both {cost_label} and {score_label}, so that there is nothing to draw.")
    from matplotlib.ticker import EngFormatter

    costs, scores, chosen = costs[known], scores[known], chosen[known]
    with look():
        figure = blank(width, 0.75)
        axes = figure.add_subplot()
        axes.scatter(costs[~chosen], scores[~chosen], s=5, color=PALE, linewidths=0, rasterized=True)
        order = np.argsort(costs[chosen], kind="stable")
        x, y = costs[chosen][order], scores[chosen][order]
        if len(x) > 1 and bool(np.all(np.diff(y) >= 0)):  # with several costs the front is no line
            axes.step(x, y, where="post", color=COLOURS[1])
        if len(x):
            axes.scatter(x, y, s=16, color=COLOURS[1], zorder=3, label="the front" if len(x) > 1 else "chosen")
            axes.legend(loc="lower right")
        axes.set(xlabel=cost_label, ylabel=score_label)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_title(f"{len(costs):,} networks", loc="left")
    return figure


def surface(found: Mapping[str, Any], *, width: str | float = "column") -> Figure:
    """The accuracy that HNAS expects for each pair of its two numbers, and what was asked; the best with a ring.

    `found` is what a search leaves as its findings under `hnas`.
    """
    if "surface" not in found:
        raise SettingError("The search has not ended, so that there is no surface yet; run it to its end.")
    try:
        answers = [answer for answer in found["answers"] if answer["reached"] is not None]
        expected = np.array(found["surface"], dtype=float).reshape(len(found["exponents"]), len(found["u"]))
        asked = np.array([[answer[name] for name in ("u", "exponent", "reached")] for answer in answers], dtype=float)
    except (LookupError, TypeError, ValueError) as error:
        raise StoreError(f"What the search found is damaged ({type(error).__name__}: {error!s:.80}).") from error
    u, exponents, reached = asked.reshape(-1, 3).T
    with look():
        figure = blank(width, 0.8)
        axes = figure.add_subplot()
        shade = axes.contourf(found["u"], found["exponents"], expected, levels=12, cmap="viridis")
        axes.scatter(
            u,
            exponents,
            c=reached,
            vmin=shade.get_clim()[0],
            vmax=shade.get_clim()[1],
            cmap="viridis",
            edgecolors="white",
            linewidths=0.7,
            s=18,
            clip_on=False,
        )
        if answers:
            best = int(reached.argmax())
            axes.plot(
                u[best : best + 1],
                exponents[best : best + 1],
                "o",
                ms=9,
                mfc="none",
                mec=COLOURS[1],
                mew=1.2,
                clip_on=False,
            )
        axes.grid(visible=False)
        axes.set(xlabel="u (the bound's place)", ylabel="exponent of mu")
        figure.colorbar(shade, ax=axes, label="expected accuracy, %")
        axes.tick_params(color=INK)
    return figure
