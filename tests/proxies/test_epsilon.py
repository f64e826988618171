"""Epsilon against plain loops, and on outputs whose value is known."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from torch import Tensor, nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.epsilon import are_equal, epsilon, relative_change


def outputs(model: nn.Module, x: Tensor, value: float) -> list[float]:
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                nn.init.constant_(parameter, 0.0 if name == "bias" else value)
    return model.train()(x).flatten().tolist()


def slow_change(first: list[float], second: list[float]) -> float:
    def scaled(row: list[float]) -> list[float]:
        return [(value - min(row)) / (max(row) - min(row)) for value in row]

    pairs = list(zip(scaled(first), scaled(second), strict=True))
    gaps = [abs(a - b) for a, b in pairs if a != 0 and b != 0]
    everything = [value for pair in pairs for value in pair if value != 0]
    return (sum(gaps) / len(gaps)) / (sum(everything) / len(everything))


def test_outputs_of_a_published_example() -> None:
    first, second = (torch.tensor(row, dtype=torch.float64) for row in ((0, 1, 2, 4), (0, 1, 4, 9)))
    assert relative_change(first, second) == pytest.approx(0.11765, abs=5e-6)
    assert relative_change(first, first) == 0
    assert are_equal(torch.ones(4) + 1e-7 * torch.arange(4))
    assert not are_equal(torch.ones(4) + 1e-4 * torch.arange(4))


@pytest.mark.parametrize(("low", "high"), [(1e-3, 1.0), (0.1, 10.0)])
@pytest.mark.parametrize("name", ["residual", "gated", "smooth"])
def test_value_by_hand(name: str, low: float, high: float) -> None:
    x = nets.images(5)
    rows = [outputs(nets.build(name), x, value) for value in (low, high)]
    found = epsilon(Probe(nets.build(name), x), low=low, high=high).value
    assert found == pytest.approx(slow_change(*rows), rel=1e-6)


def test_outputs_that_differ_by_rounding_have_no_value() -> None:
    """LayerNorm subtracts the mean of channels, which are all equal."""
    score = firstlight.score(nets.build("attention"), nets.images(5), "epsilon")["epsilon"]
    assert score.status == "unsupported"
    assert "LayerNorm" in score.note
