"""Counting parameters and multiply-accumulates."""

from __future__ import annotations

import torch
from torch import nn

from firstlight.cost import Cost, measure_cost
from firstlight.probe import Probe


def test_counts_by_hand() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5))
    params = (27 * 8 + 8) + 16 + (128 * 5 + 5)
    macs = 27 * 8 * 16 + 128 * 5
    assert Probe(net, torch.randn(7, 3, 4, 4)).cost() == Cost(params, macs)


def test_the_meta_device_computes_nothing_and_counts_the_same() -> None:
    def build() -> nn.Module:
        return nn.Sequential(nn.Conv2d(3, 6, 3, stride=2, groups=3), nn.Flatten(), nn.Linear(6 * 9, 4))

    with torch.device("meta"):
        abstract = build()
    expected = measure_cost(build(), torch.randn(1, 3, 8, 8))
    assert measure_cost(abstract, torch.empty(1, 3, 8, 8, device="meta")) == expected


def test_attention_counts_in_evaluation_mode_too() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    projections, products, mlp = 4 * 5 * 64, 2 * 5 * 5 * 8, 2 * 5 * 8 * 16
    assert Probe(layer.eval(), torch.randn(3, 5, 8)).cost().macs == projections + products + mlp


def test_shared_parameters_count_once() -> None:
    layer = nn.Linear(4, 4)
    assert measure_cost(nn.Sequential(layer, layer), torch.randn(1, 4)) == Cost(20, 32)
