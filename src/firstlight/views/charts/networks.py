"""Charts of untrained networks: how independent channels are from layer to layer, and how the output bends."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstlight.probe import Probe
from firstlight.probe.curvature import bending, principal_components
from firstlight.probe.spectra import InverseCondition, split_vectors
from firstlight.views.charts.description import Line, Lines, Loop, Panels

# Panels in a row
IN_A_ROW = 4


def layer_lines(networks: Mapping[str, Probe]) -> Lines:
    """Describe sigma_min / sigma_max of the output of each layer (Dextr, Figure 3): 1 where no channel repeats others.

    Vectors behind the last feature map have a single singular value and are left out. Since single layers jump up and
    down, lines are running means.
    """
    lines = []
    for name, probe in networks.items():
        values = probe.feature_statistic(InverseCondition(), modules="leaf").values.tolist()
        ratios, _ = split_vectors(values)
        means = _running_mean(np.array(ratios)).tolist()
        lines.append(Line(name, list(enumerate(means, start=1)), marks=list(enumerate(ratios, start=1))))
    return Lines("layer", "sigma_min / sigma_max", lines, includes=(0.0,))


def output_loops(networks: Mapping[str, Probe], points: int) -> Panels:
    """Describe the output as the input goes around a circle, in its first two principal components (Dextr, Figure 1).

    Each title has the length of the curve in three components; that of a circle is 1.
    """
    loops = []
    for number, (name, probe) in enumerate(networks.items()):
        places, share = principal_components(probe.output_curve(points))
        y_label = "second component" if number % IN_A_ROW == 0 else ""
        curve = [(float(x), float(y)) for x, y in places[:, :2].tolist()]
        title = f"{name}\nlength {bending(places):.2f}, {share:.0%} of variance"
        loops.append(Loop("first component", y_label, curve, title))
    return Panels([loops[first : first + IN_A_ROW] for first in range(0, len(loops), IN_A_ROW)])


def _running_mean(values: np.ndarray) -> np.ndarray:
    """The mean over about a tenth of the layers, fewer at the ends."""
    reach = max(1, len(values) // 20)
    return np.array([values[max(0, place - reach) : place + reach + 1].mean() for place in range(len(values))])
