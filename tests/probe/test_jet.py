"""Jets as stand-ins for tensors: what must hold of each rule, and what must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from firstlight.core.errors import UnsupportedError
from firstlight.probe.jet import Jet, forward_mode


def jet(*shape: int, seed: int = 0) -> Jet:
    return Jet(torch.randn(3, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def reverse_mode(function: Callable[..., Tensor], *jets: Jet) -> Tensor:
    """The three parts by two backward passes for each output."""

    def along(t: Tensor) -> Tensor:
        return function(*(x.parts[0] + t * x.parts[1] + t**2 / 2 * x.parts[2] for x in jets))

    t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    with sdpa_kernel(SDPBackend.MATH):  # the fused kernels have no second derivative
        out = along(t)
    parts = torch.zeros(3, out.numel(), dtype=torch.float64)
    for index, entry in enumerate(out.flatten()):
        parts[0, index] = entry
        if entry.requires_grad:
            (velocity,) = torch.autograd.grad(entry, t, create_graph=True)
            parts[1, index] = velocity
            if velocity.requires_grad:
                parts[2, index] = torch.autograd.grad(velocity, t, retain_graph=True)[0]
    return parts.view(3, *out.shape)


weight = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "conv with bias": (lambda x: F.conv2d(x, weight, torch.arange(4.0, dtype=torch.float64)), ((2, 3, 5, 5),)),
    "linear": (lambda x: F.linear(x, weight.view(4, 27)[:, :5], torch.ones(4, dtype=torch.float64)), ((2, 6, 5),)),
    "relu": (torch.relu, ((2, 3, 4),)),
    "in place": (lambda x: x.clone().mul_(2).add_(1).relu_(), ((2, 3, 4),)),
    "pool 3x3": (lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), ((1, 1, 20, 30),)),
    "pool 3x3 padded": (lambda x: F.avg_pool2d(x, 3, 1, 1), ((1, 1, 20, 30),)),
    "pool 3x3 of a small map": (lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), ((1, 2, 5, 4),)),
    "pool 2x2": (lambda x: F.avg_pool2d(x, 2), ((1, 2, 4, 4),)),
    "max pool": (lambda x: F.max_pool2d(x, 2), ((1, 2, 4, 4),)),
    "max pool 3x3": (lambda x: torch.max_pool2d(x, 3, 1, 1), ((2, 2, 5, 4),)),
    "max pool with its indices": (
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)[0],
        ((2, 2, 5, 4),),
    ),
    "max pool of a line": (lambda x: F.max_pool1d(x, 3, 1, 1), ((2, 2, 7),)),
    "max pool of a volume": (lambda x: F.max_pool3d(x, 2), ((2, 1, 4, 2, 4),)),
    "max pool to a size": (lambda x: F.adaptive_max_pool2d(x, 3), ((1, 2, 7, 5),)),
    "instance norm": (F.instance_norm, ((1, 2, 4, 4),)),
    "batch norm over several samples": (lambda x: F.batch_norm(x, None, None, training=True), ((3, 2, 4, 4),)),
    "batch norm of vectors": (lambda x: F.batch_norm(x, None, None, training=True), ((5, 3),)),
    "instance norm over several samples": (F.instance_norm, ((3, 2, 4, 4),)),
    "largest and its place": (lambda x: x.max(1)[0], ((2, 5),)),
    "cast": (lambda x: x.to(torch.float64).double(), ((2, 3),)),
    "group norm": (lambda x: F.group_norm(x, 2), ((2, 4, 3, 3),)),
    "layer norm over two dimensions": (lambda x: F.layer_norm(x, (3, 4)), ((2, 3, 4),)),
    "product": (lambda x, y: x * y, ((2, 3, 4), (3, 1))),
    "matrix product": (lambda x, y: x @ y, ((2, 3, 4), (2, 4, 5))),
    "matrix product with a fixed one": (lambda x: weight[0, 0] @ x, ((2, 3, 4),)),
    "fixed minus moving": (lambda x: 1.5 - x, ((2, 3),)),
    "moving minus moving": (lambda x, y: x - y, ((2, 3), (3,))),
    "sum with a larger fixed one": (lambda x: x + weight[0], ((3, 3),)),
    "division by a larger fixed one": (lambda x: x / (weight[0] + 9), ((3, 3),)),
    "division by moving": (lambda x, y: x / (y + 5), ((2, 3), (2, 3))),
    "reciprocal": (lambda x: 1 / (x + 9), ((2, 3),)),
    "shapes": (lambda x: x.permute(0, 2, 1).reshape(2, -1).unsqueeze(1)[:, :, 1:].mean(-1), ((2, 3, 4),)),
    "joined with a fixed one": (lambda x: torch.cat([x, torch.ones(2, 1, dtype=torch.float64)], 1), ((2, 3),)),
    "stacked": (lambda x, y: torch.stack([x, y], dim=1), ((2, 3), (2, 3))),
    "padding with a value": (lambda x: F.pad(x, (1, 2), value=3.0), ((2, 3),)),
    "softmax": (lambda x: x.softmax(-1), ((2, 3),)),
    "power": (lambda x: x**3, ((2, 3),)),
    "absolute value": (abs, ((2, 3),)),
    "variance": (lambda x: x.var(1), ((2, 5),)),
    "mask from a comparison": (lambda x: x * (x > 0), ((2, 5),)),
    "chunks": (lambda x: x.chunk(2, dim=1)[1], ((2, 6),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ((1, 2, 3, 3),)),
    **{
        activation.__name__: (activation, ((2, 3),))
        for activation in (
            *(F.celu, F.elu, F.gelu, F.hardswish, F.hardtanh, F.leaky_relu, F.logsigmoid, F.mish),
            *(F.relu6, F.selu, F.silu, F.softplus, F.softsign, F.tanh, torch.sigmoid, torch.exp, torch.sin),
        )
    },
    "prelu": (lambda x: F.prelu(x, torch.full((3,), 0.2, dtype=torch.float64)), ((2, 3),)),
    "glu": (lambda x: F.glu(x), ((2, 4),)),
    "log softmax": (lambda x: F.log_softmax(x, -1), ((2, 3),)),
    "normalize": (lambda x: F.normalize(x, dim=1), ((2, 3),)),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), ((2, 3, 4), (2, 2, 4))),
    "attention": (F.scaled_dot_product_attention, ((1, 2, 4, 3), (1, 2, 4, 3), (1, 2, 4, 3))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rule_agrees_with_reverse_mode(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    jets = [jet(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    expected = reverse_mode(function, *jets)
    with torch.no_grad():
        result = function(*jets)
    torch.testing.assert_close(result.parts, expected, rtol=1e-9, atol=1e-10)


def test_hardsigmoid_by_its_definition() -> None:
    """PyTorch cannot differentiate it twice, so there is no reverse mode to compare with."""
    x = jet(2, 9)
    expected = reverse_mode(lambda y: (y + 3).clamp(0, 6) / 6, x)
    torch.testing.assert_close(F.hardsigmoid(x).parts, expected)


def test_one_dimension_in_place_reaches_every_view() -> None:
    whole = jet(2, 6)
    expected = whole.parts.clone()
    expected[:, :, :3] *= 2
    whole[:, :3].mul_(2)
    torch.testing.assert_close(whole.parts, expected)


def test_whole_numbers_do_not_move() -> None:
    assert torch.equal(jet(2, 3).to(torch.int64), jet(2, 3).value.to(torch.int64))


def test_in_place_on_a_jet_reaches_it_even_if_the_result_is_fixed() -> None:
    x = jet(2, 3)
    x.mul_(0)
    assert not x.parts.any()
    y = jet(2, 3)
    y.sign_()
    assert torch.equal(y.parts[0].abs(), torch.ones(2, 3, dtype=torch.float64))
    assert not y.parts[1:].any()


@pytest.mark.parametrize(
    "lossy",
    [
        lambda x: torch.zeros(2, 3, dtype=torch.float64).add_(x),
        lambda x: torch.add(x, x, out=torch.zeros(2, 3, dtype=torch.float64)),
        lambda x: F.linear(x, torch.ones(3, 3, dtype=torch.float64), x[0]),
        lambda x: F.layer_norm(x, (3,), x[0]),
        lambda x: F.layer_norm(x, (3,), None, x[0]),
        lambda x: F.group_norm(x, 1, x[0]),
        lambda x: F.batch_norm(x, None, None, x[0], training=True),
    ],
)
def test_what_would_lose_a_derivative_is_refused(lossy: Callable[[Jet], Any]) -> None:
    with pytest.raises(UnsupportedError):
        lossy(jet(2, 3))


def test_dropout_drops_the_same_entries_of_all_parts() -> None:
    torch.manual_seed(0)
    parts = F.dropout(Jet(torch.ones(3, 1, 1000)), 0.5, training=True).parts
    assert set(parts.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(parts[0], parts[1])
    assert torch.equal(parts[0], parts[2])


def test_shapes_and_comparisons_are_plain() -> None:
    x = jet(2, 3)
    assert x.size(1) == x.shape[1] == 3
    assert len(x) == 2
    assert x.numel() == 6
    assert isinstance(x > 0, Tensor)
    assert isinstance(x.detach(), Tensor)
    assert torch.equal(x.new_zeros(2), torch.zeros(2, dtype=torch.float64))


def test_a_function_without_second_derivative_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="bincount"):
        torch.bincount(jet(5))


def test_moving_weights_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="weights of conv2d"):
        F.conv2d(torch.ones(1, 3, 5, 5), jet(4, 3, 3, 3))


def test_a_wrong_forward_mode_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this guards against: forward mode through PyTorch's fused BatchNorm is silently wrong."""
    monkeypatch.setattr(forward_mode, "_verified", set())

    def fused(x: Tensor) -> Tensor:
        return torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0]

    with pytest.raises(UnsupportedError, match="disagree"):
        forward_mode.taylor(fused, (jet(2, 3, 4, 4),), {}, Jet)
    assert not forward_mode._verified


def test_a_call_that_was_right_does_not_vouch_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_mode, "_verified", set())
    x, statistics = jet(2, 3, 4, 4), torch.ones(3, dtype=torch.float64)

    def normalize(training: bool, y: Jet = x) -> Any:
        arguments = (y, None, None, statistics, statistics, training, 0.1, 1e-5)
        return forward_mode.taylor(torch.native_batch_norm, arguments, {}, Jet)

    normalize(False, Jet(torch.cat([x.parts[:1], torch.zeros_like(x.parts[1:])])))  # nothing moves: proves nothing
    assert not forward_mode._verified
    normalize(False)
    assert forward_mode._verified
    with pytest.raises(UnsupportedError, match="disagree"):
        normalize(True)


@pytest.mark.parametrize("last", [False, True])
def test_relu_masks_each_part_bit_by_bit(last: bool) -> None:
    parts = torch.randn(3, 2, 4, 5, 5, generator=torch.Generator().manual_seed(0))
    parts[0, 0, 0, 0] = 0.0  # the derivative of ReLU at 0 is taken to be 0
    if last:
        parts = parts.flatten(0, 1).contiguous(memory_format=torch.channels_last).view_as(parts)
    mask = (parts[0] > 0).float()
    assert torch.equal(torch.relu(Jet(parts)).parts, torch.stack([part * mask for part in parts]))
