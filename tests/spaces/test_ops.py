"""How weights are drawn."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from firstlight.core.errors import UnknownNameError
from firstlight.core.seeds import torch_generator
from firstlight.spaces.ops import Conv2d, Linear, initialize


def test_weights_have_the_default_distribution_of_pytorch() -> None:
    network = nn.Sequential(Conv2d(8, 64, 3, bias=False), nn.BatchNorm2d(64), nn.Flatten(), Linear(256, 100))
    initialize(network, torch_generator(0, "test"))
    for layer, bound in ((network[0], 72**-0.5), (network[3], 256**-0.5)):
        weight = layer.weight.detach()
        assert float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.02)  # uniform
    assert float(network[3].bias.detach().abs().max()) <= 256**-0.5
    assert torch.equal(network[1].weight, torch.ones(64))


@pytest.mark.parametrize(("name", "fans"), [("xavier", (72 + 576, 256 + 100)), ("he", (72, 256))])
def test_other_initializations_have_their_variance(name: str, fans: tuple[int, int]) -> None:
    network = nn.Sequential(Conv2d(8, 64, 3, bias=False), nn.BatchNorm2d(64), nn.Flatten(), Linear(256, 100))
    initialize(network, torch_generator(0, "test"), name)
    for layer, fan in zip((network[0], network[3]), fans, strict=True):
        assert float(layer.weight.detach().std()) == pytest.approx((2 / fan) ** 0.5, rel=0.03)
    assert float(network[3].bias.detach().abs().max()) <= 256**-0.5


def test_an_unknown_initialization_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="default, he, ntk, xavier"):
        initialize(nn.Sequential(Linear(2, 2)), torch_generator(0, "test"), "glorot")
