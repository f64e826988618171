"""Figures of what networks do inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import nets

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.views.figures.networks import layers, outputs


def probe(name: str = "residual") -> Probe:
    generator = torch.Generator().manual_seed(0)
    return Probe(nets.build(name).float(), torch.randn(1, 3, 8, 8, generator=generator))


def test_layers_are_those_of_the_probe_without_vectors() -> None:
    one = probe()
    (axes,) = layers({"mine": one, "other": probe("smooth")}).axes
    drawn = np.asarray(axes.collections[0].get_offsets())[:, 1]
    expected = one.feature_statistic(InverseCondition(), modules="leaf").values.numpy()
    assert 1 < len(drawn) < len(expected)
    np.testing.assert_allclose(drawn, expected[: len(drawn)])
    assert (expected[len(drawn) :] == 1).all()
    mean = np.asarray(axes.lines[0].get_ydata())
    assert drawn.min() <= mean.min() <= mean.max() <= drawn.max()
    with pytest.raises(SettingError, match="no network"):
        layers({})


def test_outputs_are_closed_curves_with_their_length() -> None:
    figure = outputs({f"network {number}": probe() for number in range(5)}, points=16)
    assert len(figure.axes) == 5
    for axes in figure.axes:
        x = np.asarray(axes.lines[0].get_xdata())
        assert len(x) == 17
        assert x[0] == x[-1]
        assert "length" in axes.get_title(loc="left")
    assert [axes.get_ylabel() for axes in figure.axes] == ["second component", "", "", "", "second component"]


def test_an_output_that_does_not_move_has_no_curve() -> None:
    still = Probe(torch.nn.Sequential(torch.nn.Flatten(), Nothing()), torch.randn(1, 3, 8, 8))
    with pytest.raises(UnsupportedError, match="no curve"):
        outputs({"still": still})


class Nothing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :4] * 0
