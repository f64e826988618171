"""What networks do inside: how independent their channels are from layer to layer, and how their output bends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.probe import Probe
from firstlight.probe.curvature import bending, principal_components
from firstlight.probe.spectra import InverseCondition, split_vectors
from firstlight.views.figures.style import COLOURS, PALE, blank, look, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points of an output curve; as many as the published code of Dextr can take
POINTS = 128
# Curves stand side by side, so many in a row
IN_A_ROW = 4


def layers(networks: Mapping[str, Probe], *, width: str | float = "column") -> Figure:
    """sigma_min / sigma_max of the output of each layer (Dextr, Figure 3): 1 where no channel repeats others.

    Vectors behind the last feature map have one singular value and are left out.
    """
    if not networks:
        raise SettingError("There is no network to draw.")
    with look():
        figure = blank(width, 0.7)
        axes = figure.add_subplot()
        for (name, probe), (colour, dashes, mark) in zip(networks.items(), styles(), strict=False):  # styles never end
            values = probe.feature_statistic(InverseCondition(), modules="leaf").values.tolist()
            ratios, _ = split_vectors(values)
            numbers = np.arange(1, len(ratios) + 1)
            # single layers jump up and down: small marks for them, and a line for what they come to
            axes.scatter(numbers, ratios, s=3, color=colour, alpha=0.35, linewidths=0, marker=mark)
            axes.plot(numbers, _running_mean(np.array(ratios)), color=colour, linestyle=dashes, label=name)
        axes.set(xlabel="layer", ylabel="sigma_min / sigma_max")
        axes.set_ylim(bottom=0)
        if len(networks) > 1:
            axes.legend(loc="best")
    return figure


def _running_mean(values: np.ndarray) -> np.ndarray:
    """Over about a tenth of the layers, fewer at the ends."""
    reach = max(1, len(values) // 20)
    return np.array([values[max(0, place - reach) : place + reach + 1].mean() for place in range(len(values))])


def outputs(networks: Mapping[str, Probe], *, points: int = POINTS, width: str | float = "page") -> Figure:
    """The output as the input goes round a circle, in its first two principal components (Dextr, Figure 1).

    A dot marks where the circle begins. Above each curve stands its length in three components, a circle's being 1.
    """
    if not networks:
        raise SettingError("There is no network to draw.")
    across = min(len(networks), IN_A_ROW)
    down = math.ceil(len(networks) / across)
    with look():
        figure = blank(width, 1.12 * down / across)
        for number, (name, probe) in enumerate(networks.items(), start=1):
            places, share = principal_components(probe.output_curve(points))
            axes = figure.add_subplot(down, across, number)
            first, second = (np.append(column, column[0]) for column in places[:, :2].T.numpy())
            axes.plot(first, second, color=PALE, linewidth=0.6)
            axes.scatter(first, second, c=np.linspace(0, 1, points + 1), cmap="twilight", s=4, linewidths=0)
            axes.scatter(first[:1], second[:1], s=18, color=COLOURS[1], zorder=3)
            axes.set_title(f"{name}\nlength {bending(places):.2f}, {share:.0%} of variance", loc="left")
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xlabel("first component")
            if number % across == 1 or across == 1:
                axes.set_ylabel("second component")
    return figure
