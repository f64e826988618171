"""NASGraph: the average degree, and what it depends on."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from torch import nn

from firstlight.probe import Probe
from firstlight.proxies.nasgraph import nasgraph_degree


def test_value_by_hand() -> None:
    """Each edge adds one to the degree of two vertices."""
    found = nasgraph_degree(Probe(nets.build("residual"), nets.images(1)))
    assert found.value == pytest.approx(2 * found.parts["edges"] / found.parts["vertices"])
    assert found.parts["vertices"] == 36


def test_depthwise_convolutions_have_few_edges() -> None:
    def degree(groups: int) -> float:
        model = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=groups), nn.Flatten(), nn.Linear(16 * 16, 2))
        return nasgraph_degree(Probe(model, torch.zeros(1, 16, 4, 4))).parts["edges"]

    assert degree(1) - degree(16) > 16 * 15 * 0.7


def test_batch_norm_makes_no_difference() -> None:
    torch.manual_seed(0)
    bare = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(64, 2))
    normalized = nn.Sequential(bare[0], nn.BatchNorm2d(8), *bare[1:3], nn.BatchNorm2d(4), *bare[3:])
    x = torch.zeros(1, 3, 8, 8)
    assert nasgraph_degree(Probe(bare, x)).parts == nasgraph_degree(Probe(normalized, x)).parts
