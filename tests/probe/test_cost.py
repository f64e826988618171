"""Counting parameters and multiply-accumulates."""

from __future__ import annotations

import torch
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.probe.cost import Cost, Footprint, measure_cost, measure_footprint


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


class Branches(nn.Module):
    """Two maps of the input that are alive together, and a view."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 8, bias=False), nn.Linear(4, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left = self.left(x)
        return left + self.right(x).view(1, 8)


def test_activations_and_memory_by_hand() -> None:
    weights, inputs, maps = 2 * 4 * 8, 4, 3 * 8  # at the addition both maps and the sum are there
    expected = Footprint(activations=16, memory=4 * (weights + inputs + maps))
    assert measure_footprint(Branches(), torch.randn(1, 4)) == expected
    with torch.device("meta"):
        assert measure_footprint(Branches(), torch.empty(1, 4)) == expected


def test_what_is_no_longer_needed_is_let_go() -> None:
    """In a chain only the input of a layer and its output are alive: the largest neighbours count, not the sum."""
    chain = nn.Sequential(nn.Linear(8, 64), nn.Linear(64, 8), nn.Linear(8, 64), nn.Linear(64, 2))
    weights = sum(parameter.numel() for parameter in chain.parameters())
    found = measure_footprint(chain, torch.randn(1, 8))
    assert found.activations == 64 + 8 + 64 + 2
    assert found.memory == 4 * (weights + 8 + 64 + 8)


def test_a_space_counts_without_weights() -> None:
    space = firstlight.space("nasbench201")
    skeleton = space.skeleton(cells=1, channels=4)
    small, large = (
        space.footprint(space.parse(f"|{op}~0|+|none~0|none~1|+|none~0|none~1|{op}~2|"), skeleton)
        for op in ("none", "nor_conv_3x3")
    )
    assert small.activations < large.activations
    assert small.memory < large.memory
