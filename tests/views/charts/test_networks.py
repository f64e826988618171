"""Charts of what networks do inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import nets

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.views.charts.description import Loop
from firstlight.views.charts.networks import layer_lines, output_loops


def probe(name: str = "residual") -> Probe:
    generator = torch.Generator().manual_seed(0)
    return Probe(nets.build(name).float(), torch.randn(1, 3, 8, 8, generator=generator))


def test_layers_are_those_of_the_probe_without_vectors() -> None:
    one = probe()
    chart = layer_lines({"mine": one, "other": probe("smooth")})
    assert [line.name for line in chart.lines] == ["mine", "other"]
    drawn = np.array(chart.lines[0].marks)[:, 1]
    expected = one.feature_statistic(InverseCondition(), modules="leaf").values.numpy()
    assert 1 < len(drawn) < len(expected)
    np.testing.assert_allclose(drawn, expected[: len(drawn)])
    assert (expected[len(drawn) :] == 1).all()
    mean = np.array(chart.lines[0].points)[:, 1]
    assert drawn.min() <= mean.min() <= mean.max() <= drawn.max()
    assert chart.includes == (0.0,)


def test_outputs_are_closed_curves_with_their_length() -> None:
    chart = output_loops({f"network {number}": probe() for number in range(5)}, 16)
    assert [len(row) for row in chart.rows] == [4, 1]
    for panel in (panel for row in chart.rows for panel in row):
        assert isinstance(panel, Loop)
        assert len(panel.points) == 16
        assert "\nlength " in panel.title
    labels = [panel.y_label for row in chart.rows for panel in row]
    assert labels == ["second component", "", "", "", "second component"]


def test_an_output_that_does_not_move_has_no_curve() -> None:
    still = Probe(torch.nn.Sequential(torch.nn.Flatten(), Nothing()), torch.randn(1, 3, 8, 8))
    with pytest.raises(UnsupportedError, match="no curve"):
        output_loops({"still": still}, 16)


class Nothing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :4] * 0
