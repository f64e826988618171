"""Quicker kernels against the layers that they stand in for."""

from __future__ import annotations

import pytest
import torch
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import Tensor, nn

from firstlight.probe.observe import undisturbed
from firstlight.probe.substitutes import substitute_layers

SHAPES = [(1, 16, 32, 32), (1, 9, 7, 5), (1, 64, 8, 8), (3, 16, 6, 6), (1, 3, 6, 6), (1, 16, 1, 2), (2, 8, 1, 1)]
POOLS = [
    nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False),
    nn.AvgPool2d(3, stride=2, padding=1),
    nn.AvgPool2d((3, 3), stride=1, padding=1, divisor_override=5),
    nn.AvgPool2d(2, ceil_mode=True, padding=1),
]


def images(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def substituted(layer: nn.Module, x: Tensor) -> Tensor:
    model = nn.Sequential(layer)
    before = snapshot(model)
    with undisturbed(model, training=True, seed=0), torch.no_grad():
        substitute_layers(model)
        out: Tensor = model(x.clone(memory_format=torch.preserve_format))
    assert_unchanged(before, snapshot(model))
    assert "forward" not in vars(layer)
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_pooling_has_the_same_bits(pool: nn.AvgPool2d, shape: tuple[int, ...]) -> None:
    x = images(*shape)
    found, expected = substituted(pool, x), pool(x)
    assert torch.equal(found, expected)
    assert found.is_contiguous()


def test_pooling_of_other_layouts_and_of_values_that_are_not_finite() -> None:
    pool = POOLS[0]
    x = images(1, 16, 8, 8)
    x[0, 0, 3, 3], x[0, 1, 0, 0] = torch.nan, torch.inf
    assert torch.equal(substituted(pool, x).nan_to_num(7.0), pool(x).nan_to_num(7.0))
    last = images(1, 16, 8, 8).contiguous(memory_format=torch.channels_last)
    assert torch.equal(substituted(pool, last), pool(last))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
def test_batch_norm_of_an_image_by_its_formula(shape: tuple[int, ...], affine: bool) -> None:
    layer = nn.BatchNorm2d(shape[1], eps=1e-3, affine=affine)
    if affine:
        nn.init.normal_(layer.weight)
        nn.init.normal_(layer.bias)
    x = (3 * images(*shape) + 1).double()
    centered = x - x.mean((0, 2, 3), keepdim=True)
    expected = centered / (centered.square().mean((0, 2, 3), keepdim=True) + 1e-3).sqrt()
    if affine:
        expected = expected * layer.weight.view(1, -1, 1, 1) + layer.bias.view(1, -1, 1, 1)
    torch.testing.assert_close(substituted(layer, x.float()).double(), expected, rtol=1e-4, atol=1e-5)


def test_batch_norm_still_refuses_what_it_cannot_normalize() -> None:
    for x, message in (
        (images(1, 4, 1, 1), "more than 1 value"),
        (images(1, 6, 4, 4), "running_mean|num_features|same"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            substituted(nn.BatchNorm2d(4), x)


def test_layers_with_a_forward_of_their_own_keep_it() -> None:
    layer = nn.BatchNorm2d(4)
    layer.forward = lambda x: x  # type: ignore[method-assign]
    x = images(1, 4, 4, 4)
    model = nn.Sequential(layer)
    with undisturbed(model, training=True, seed=0):
        substitute_layers(model)
        assert torch.equal(model(x), x)
