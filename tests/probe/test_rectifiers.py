"""Codes of ReLUs against counting one unit at a time."""

from __future__ import annotations

import pytest
import torch
from tests import nets, slow
from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe

NETS = ["residual", "plain", "mlp"]


@pytest.mark.parametrize("name", NETS)
def test_agreement_by_counting(name: str) -> None:
    x = nets.images(4)
    found = Probe(nets.build(name), x).relu_codes()
    expected = slow.agreement(nets.build(name), x)
    assert torch.equal(found.agreement, expected)
    assert found.units == expected[0, 0]


@pytest.mark.parametrize("name", NETS)
def test_products_of_real_inputs(name: str) -> None:
    x = nets.images(4)
    seen = [units.flatten(1) for units in slow.relu_inputs(nets.build(name), x)]
    expected = torch.tensor([[sum(float(u[i] @ u[j]) for u in seen) for j in range(4)] for i in range(4)])
    assert torch.allclose(Probe(nets.build(name), x).relu_inner_products(), expected.double(), rtol=1e-6)


@pytest.mark.parametrize("name", ["residual", "plain"])
@pytest.mark.parametrize("samples", [1, 3, 6, 16])
def test_patterns_by_a_set_of_columns(name: str, samples: int) -> None:
    x = nets.images(6)
    found = Probe(nets.build(name), x).relu_patterns(samples).patterns
    assert found == slow.unit_patterns(nets.build(name), x, samples)


def test_batch_norm_sees_the_whole_batch_where_patterns_are_those_of_a_few() -> None:
    x = nets.images(12)
    whole, few = (Probe(nets.build("residual"), x[:n]).relu_patterns(8).patterns for n in (12, 8))
    assert whole == slow.unit_patterns(nets.build("residual"), x, 8) != few


def test_patterns_over_more_samples_than_a_whole_number_has_bits() -> None:
    x = torch.zeros(130, 1, 2, 3)
    x[65, 0, 0, 1] = x[129, 0, 0, 2] = x[129, 0, 1, 0] = x[0, 0, 1, 1] = 1.0  # off, three ways to be on, and a repeat
    probe = Probe(nn.ReLU(), x)
    assert [probe.relu_patterns(n).patterns for n in (62, 63, 66, 130)] == [2, 2, 3, 4]
    noise = nets.images(70, side=4)
    net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU()).double()
    assert Probe(net, noise).relu_patterns(70).patterns == slow.unit_patterns(net, noise, 70) == 8


def test_patterns_are_told_apart_across_layers() -> None:
    x = nets.images(3)
    net = nn.Sequential(nn.ReLU(), nn.ReLU())  # the second gets what the first lets through: the same signs
    assert Probe(net, x).relu_codes().patterns == Probe(nn.ReLU(), x).relu_codes().patterns


def test_zero_is_off() -> None:
    found = Probe(nn.ReLU(), torch.tensor([[0.0, 0.0, 2.0], [-1.0, 1.0, 3.0], [-1.0, -1.0, -1.0]])).relu_codes()
    assert found.agreement.tolist() == [[3, 2, 2], [2, 3, 1], [2, 1, 3]]
    assert found.patterns == 0  # no feature maps


def test_samples_in_another_order() -> None:
    x, order = nets.images(5), torch.tensor([3, 0, 4, 1, 2])
    found, shuffled = (Probe(nets.build("plain"), inputs).relu_codes() for inputs in (x, x[order]))
    assert torch.equal(shuffled.agreement, found.agreement[order][:, order])
    assert shuffled.patterns == found.patterns


def test_scale_does_not_matter_to_a_network_without_biases() -> None:
    net = nets.build("plain")
    for layer in slow.layers(net).values():
        nn.init.zeros_(layer.bias)
    x = nets.images(5)
    assert torch.equal(Probe(net, 1e3 * x).relu_codes().agreement, Probe(net, x).relu_codes().agreement)


def test_networks_without_relu_modules() -> None:
    with pytest.raises(UnsupportedError, match="no ReLU"):
        Probe(nets.build("smooth"), nets.images()).relu_codes()
