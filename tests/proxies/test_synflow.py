"""SynFlow against plain autograd, and the laws it keeps."""

from __future__ import annotations

from math import log

import pytest
import torch
from tests import nets, slow
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.synflow import synflow

NETS = ["residual", "smooth", "attention", "plain", "mlp"]


def value(net: nn.Module, batch_norm: bool = False, seed: int = 0) -> float:
    return synflow(Probe(net, nets.images(2, seed=seed)), batch_norm=batch_norm).value


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_agrees_with_plain_autograd(name: str, batch_norm: bool) -> None:
    expected = slow.path_sum(nets.build(name), nets.images(1), batch_norm)
    assert value(nets.build(name), batch_norm) == pytest.approx(log(expected), rel=1e-9)


def test_batch_norm_makes_a_difference_where_there_is_some() -> None:
    assert value(nets.build("residual"), True) != pytest.approx(value(nets.build("residual")))
    assert value(nets.build("plain"), True) == value(nets.build("plain"))


@pytest.mark.parametrize("name", NETS)
def test_neither_data_nor_signs_nor_precision_matter(name: str) -> None:
    expected = value(nets.build(name))
    assert value(nets.build(name), seed=7) == expected
    assert value(nets.build(name).float()) == pytest.approx(expected, rel=1e-5)
    flipped = nets.build(name)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in flipped.parameters():
            parameter.mul_(2 * torch.randint(2, parameter.shape, generator=generator) - 1)
    assert value(flipped) == pytest.approx(expected, rel=1e-12)


def without_biases() -> nn.Module:
    net = nets.build("plain")
    for layer in slow.layers(net).values():
        nn.init.zeros_(layer.bias)
    return net


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_without_biases_it_scales_with_the_number_of_layers(factor: float) -> None:
    net = without_biases()
    expected = value(net) + 4 * log(factor)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(factor)
    assert value(net) == pytest.approx(expected, rel=1e-9)


def test_without_biases_each_layer_carries_the_whole_output() -> None:
    net = without_biases()
    for parameter in net.parameters():
        parameter.data.abs_()
    total = float(net(torch.ones(1, 3, 8, 8).double()).detach().sum())
    assert value(net) == pytest.approx(log(4 * total), rel=1e-9)


def test_hidden_channels_in_another_order() -> None:
    net, order = nets.build("plain"), [3, 1, 5, 0, 2, 4]
    expected = value(net)
    with torch.no_grad():
        net[0].weight.copy_(net[0].weight[order])
        net[0].bias.copy_(net[0].bias[order])
        net[2].weight.copy_(net[2].weight[:, order])
    assert value(net) == pytest.approx(expected, rel=1e-12)


def test_values_beyond_single_precision() -> None:
    net = without_biases().float()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(1e12)
    assert value(net) == pytest.approx(value(without_biases()) + 4 * log(1e12), rel=1e-6)


def test_a_network_without_paths_has_no_score() -> None:
    net = nets.build("plain")
    nn.init.zeros_(net[-1].weight)
    nn.init.zeros_(net[-1].bias)
    score = firstlight.score(net, nets.images(1), "synflow")["synflow"]
    assert score.status == "non_finite"
    assert "no path" in score.note


def test_one_batch_norm_used_twice_is_bypassed_twice() -> None:
    norm = nn.BatchNorm2d(3)
    net = nn.Sequential(nn.Conv2d(3, 3, 1), norm, nn.Conv2d(3, 3, 1), norm, nn.Flatten(), nn.Linear(192, 2))
    assert value(net) == pytest.approx(log(slow.path_sum(net, nets.images(1))), rel=1e-9)
