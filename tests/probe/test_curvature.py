"""Derivatives along the circle: against double backward, finite differences, closed forms and the reference."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from tests import nets, textbook
from tests.conftest import ParityCase
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.curvature import bending, circle_basis, curvature, principal_components

SHAPE = (3, 8, 8)


def basis() -> Tensor:
    return circle_basis(3 * 8 * 8, 3)


def probe_of(net: nn.Module) -> Probe:
    return Probe(net, torch.zeros(1, *SHAPE, dtype=torch.float64))


def test_agrees_with_the_reference_implementation(parity: ParityCase) -> None:
    probe = Probe(parity.net, parity.arrays["x"][:1])
    coordinates = tuple(parity.arrays["c_list"].tolist())
    for theta, name in ((0.0, "dextr.kappa_theta0"), (1.0, "dextr.kappa_theta1")):
        kappa = probe.output_curvature(basis=parity.arrays["curve_basis"], thetas=(theta,), coordinates=coordinates)
        # the reference rounds these to float32
        assert kappa == pytest.approx(parity.values[name], rel=max(parity.tolerance, 1e-5))


@pytest.mark.parametrize("theta", [0.0, 1.3])
@pytest.mark.parametrize("name", nets.NETS)
def test_agrees_with_double_backward(name: str, theta: float) -> None:
    velocity, acceleration = textbook.derivatives(nets.build(name), basis(), theta, SHAPE)
    jet = probe_of(nets.build(name)).output_jet(basis=basis(), thetas=(theta,))
    torch.testing.assert_close(jet.velocity[0], velocity, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(jet.acceleration[0], acceleration, rtol=1e-9, atol=1e-11)


def test_agrees_with_double_backward_in_evaluation_form() -> None:
    """BatchNorm by running statistics: a module that is frozen stays frozen only if its statistics are absent."""
    net = nets.build("residual")
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.forward = lambda x, m=module: F.batch_norm(  # type: ignore[method-assign,misc]
                x, m.running_mean, m.running_var, m.weight, m.bias, training=False
            )
    velocity, acceleration = textbook.derivatives(net, basis(), 0.4, SHAPE)
    jet = probe_of(net).output_jet(basis=basis(), thetas=(0.4,))
    torch.testing.assert_close(jet.velocity[0], velocity, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(jet.acceleration[0], acceleration, rtol=1e-9, atol=1e-12)


def test_agrees_with_finite_differences_on_a_smooth_net() -> None:
    net = nets.build("smooth").train()
    step = 1e-3

    def outputs(theta: float) -> Tensor:
        point = basis() @ torch.tensor([math.cos(theta), math.sin(theta)], dtype=torch.float64)
        with torch.no_grad():
            return net(point.view(1, *SHAPE))[0]

    before, here, after = (outputs(0.7 + offset) for offset in (-step, 0.0, step))
    jet = probe_of(net).output_jet(basis=basis(), thetas=(0.7,))
    torch.testing.assert_close(jet.velocity[0], (after - before) / (2 * step), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(jet.acceleration[0], (after - 2 * here + before) / step**2, rtol=1e-4, atol=1e-3)


def test_identity_has_the_curvature_of_the_circle() -> None:
    assert probe_of(nn.Identity()).output_curvature() == pytest.approx(1.0)
    thetas = (0.0, 1.0, 2.0)
    assert probe_of(nn.Identity()).output_curvature(thetas=thetas) == pytest.approx(3.0)


def test_scaling_the_output_divides_the_curvature() -> None:
    plain, scaled = nets.build("residual"), nets.build("residual")
    with torch.no_grad():
        scaled.head.weight.mul_(4.0)
    kappa = probe_of(plain).output_curvature()
    assert kappa is not None
    assert probe_of(scaled).output_curvature() == pytest.approx(kappa / 4)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (3, 2), (2, 1, 3), (6,)])
def test_all_outputs_count_however_they_are_arranged(shape: tuple[int, ...]) -> None:
    class Arranged(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.flatten(1)[:, :6].sin().reshape(shape)

    v, a = textbook.derivatives(Arranged(), basis(), 0.0, SHAPE)
    assert probe_of(Arranged()).output_curvature(basis=basis()) == pytest.approx(textbook.curvature(v, a))


def test_a_mask_of_one_size_keeps_the_curve_at_that_size() -> None:
    class Masked(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.masked_fill(torch.eye(8, dtype=torch.bool), 0.0).sin().flatten(1)

    assert probe_of(Masked()).output_jet().shape == SHAPE


def test_repeated_coordinates_count_as_often() -> None:
    probe = probe_of(nets.build("residual"))
    jet = probe.output_jet()
    v, a = (part[0, [1, 1, 3]] for part in (jet.velocity, jet.acceleration))
    assert probe.output_curvature(coordinates=(1, 1, 3)) == pytest.approx(textbook.curvature(v, a))


def test_a_constant_output_has_no_curvature() -> None:
    class Constant(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ones(x.shape[0], 4, dtype=x.dtype)

    assert probe_of(Constant()).output_curvature() is None
    # analytically constant; BatchNorm must not blow its rounding noise up into a signal
    pooled = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Conv2d(3, 6, 1), nn.Upsample(size=8), nn.BatchNorm2d(6), nn.Conv2d(6, 4, 3)
    )
    assert Probe(pooled, torch.zeros(1, 3, 8, 8)).output_curvature() is None
    silent = nets.build("residual")
    nn.init.zeros_(silent.head.weight)
    assert probe_of(silent).output_curvature() is None


class Still(nn.Module):
    """BatchNorm gives each channel a mean of 0, and the pooling takes it: the output is that of any other image.

    Apart from that, it moves by `pace`.
    """

    def __init__(self, pace: float = 0.0, gain: float = 1.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6))
        self.head = nn.Linear(6, 4)
        nn.init.normal_(self.head.weight, std=gain)
        self.pace = pace

    def forward(self, x: Tensor) -> Tensor:
        features = self.layers(x)
        pooled = features.mean((2, 3))
        return self.head(pooled + self.pace * features.relu().mean((2, 3)) if self.pace else pooled)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gain", [1e-4, 1.0])
def test_an_output_that_does_not_move_has_an_infinite_curvature(dtype: torch.dtype, gain: float) -> None:
    torch.manual_seed(0)
    probe = Probe(Still(gain=gain).to(dtype), torch.zeros(1, 3, 16, 16, dtype=dtype))
    assert bool(probe.output_jet().velocity.any())  # rounding errors
    assert probe.output_curvature() == math.inf
    moving = nn.Sequential(Still().layers, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(dtype)
    assert Probe(moving, torch.zeros(1, 3, 16, 16, dtype=dtype)).output_curvature() is not None


@pytest.mark.parametrize("pace", [1e-1, 1e-5, 1e-9])
def test_what_moves_less_than_float32_can_tell_is_found_in_float64(pace: float) -> None:
    torch.manual_seed(0)
    net = Still(pace)
    circle = circle_basis(3 * 16 * 16, 3)
    v, a = textbook.derivatives(copy.deepcopy(net).double(), circle, 0.0, (3, 16, 16))
    for given in (net, copy.deepcopy(net).double()):
        probe = Probe(given, torch.zeros(1, 3, 16, 16, dtype=given.head.weight.dtype))
        assert probe.output_curvature(basis=circle) == pytest.approx(textbook.curvature(v, a), rel=1e-3)


def test_the_curvature_grows_without_bound_as_the_output_comes_to_rest() -> None:
    torch.manual_seed(0)
    net, circle = Still(1.0).double(), circle_basis(3 * 16 * 16, 3)
    found = []
    for net.pace in (1e-2, 1e-5, 1e-8):
        found.append(textbook.curvature(*textbook.derivatives(net, circle, 0.0, (3, 16, 16))))
    assert [b / a for a, b in itertools.pairwise(found)] == pytest.approx([1e3, 1e3], rel=1e-2)


def test_a_small_output_beside_a_large_bias_keeps_its_curvature() -> None:
    single = nets.build("smooth").float()
    with torch.no_grad():
        single.head.weight.mul_(1e-6)
        single.head.bias.fill_(1.0)
    double = copy.deepcopy(single).double()
    expected = textbook.curvature(*textbook.derivatives(double, basis(), 0.0, SHAPE))
    for probe in (Probe(single, torch.zeros(1, *SHAPE)), probe_of(double)):
        assert probe.output_curvature(basis=basis()) == pytest.approx(expected, rel=1e-9)


def test_a_second_look_is_taken_only_where_there_is_doubt() -> None:
    passes = []

    def count(*_: object) -> None:
        passes.append(1)

    for net, expected in ((nets.build("residual").float(), 1), (Still(1e-9), 2)):
        net.register_forward_pre_hook(count)
        probe = Probe(net, torch.zeros(1, 3, 16, 16))
        passes.clear()
        kappa = probe.output_curvature()
        assert len(passes) == expected
        assert (kappa == curvature(probe.output_jet())) == (expected == 1)
        assert next(net.parameters()).dtype == torch.float32


def test_an_output_that_is_not_a_number_is_no_constant() -> None:
    class Broken(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.flatten(1) * float("nan")

    class BrokenValue(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.log(-x.abs() - 1).flatten(1)  # its derivatives are finite

    for net in (Broken(), BrokenValue()):
        kappa = probe_of(net).output_curvature()
        assert kappa is not None
        assert math.isnan(kappa)


class Patches(nn.Module):
    """Folds patches into the batch, as vision transformers with local stems do, and flattens by `view`."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Tanh())
        self.norm = nn.BatchNorm1d(20)
        self.head = nn.Linear(20, 4)

    def forward(self, x: Tensor) -> Tensor:
        patches = x.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(-1, 3, 4, 4)
        features = self.stem(patches)
        out = torch.zeros_like(features)
        out += features
        out.add_(1).mul_(2)
        return self.head(self.norm(out.view(out.size(0), -1))).mean(0, keepdim=True)


def test_statistics_are_those_of_the_whole_batch_that_a_layer_sees() -> None:
    torch.manual_seed(0)
    net = Patches().double()
    velocity, acceleration = textbook.derivatives(net, basis(), 0.3, SHAPE)
    jet = probe_of(net).output_jet(basis=basis(), thetas=(0.3,))
    torch.testing.assert_close(jet.velocity[0], velocity, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(jet.acceleration[0], acceleration, rtol=1e-8, atol=1e-9)


def test_dropout_in_fused_attention_is_the_same_however_often_asked() -> None:
    values = []
    for rate in (0.1, 0.0, 0.1):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=rate, batch_first=True)
        values.append(Probe(nn.Sequential(layer, nn.Flatten()), torch.randn(1, 4, 8)).output_curvature())
    assert values[0] == values[2] != values[1]
    assert None not in values


def test_the_curve_is_twice_the_size_of_small_images_where_the_network_allows_it() -> None:
    sizes: list[tuple[int, ...]] = []

    class Watched(nets.Smooth):
        def forward(self, x: Tensor) -> Tensor:
            sizes.append(tuple(x.shape))
            return super().forward(x)

    for given in ((8, 8), (64, 63), (64, 70)):
        Probe(Watched().double(), torch.randn(1, 3, *given, dtype=torch.float64)).output_jet()
    assert sizes == [(1, 3, 16, 16), (1, 3, 128, 126), (1, 3, 64, 70)]
    fixed = nets.build("attention")  # a table of positions for 8x8 inputs
    twice = probe_of(fixed).output_curvature()
    assert twice == probe_of(fixed).output_curvature(size=SHAPE)


def test_the_basis_is_orthonormal_and_follows_the_seed() -> None:
    torch.testing.assert_close(basis().T @ basis(), torch.eye(2, dtype=torch.float64))
    net = nets.build("residual")
    x = torch.zeros(1, *SHAPE, dtype=torch.float64)
    first, again, other = (Probe(net, x, seed=seed).output_curvature() for seed in (1, 1, 2))
    assert first == again != other


def test_batchnorm_on_single_values_is_unsupported() -> None:
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(3), nn.Flatten())
    with pytest.raises(UnsupportedError, match="BatchNorm"):
        Probe(net, torch.randn(2, 3, 8, 8)).output_curvature()


def test_several_outputs_are_unsupported() -> None:
    class Pair(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x, x

    with pytest.raises(UnsupportedError, match="returns a tuple"):
        Probe(Pair(), torch.randn(1, 3, 8, 8)).output_curvature()


@pytest.mark.parametrize("name", ["residual", "smooth", "mlp"])
def test_the_curve_is_the_output_at_each_point(name: str) -> None:
    probe = Probe(nets.build(name), torch.zeros(1, *SHAPE, dtype=torch.float64), seed=3)
    curve = probe.output_curve(4, size=SHAPE)
    net = nets.build(name).train()
    for number in range(4):
        angle = number * math.pi / 2
        point = basis() @ torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
        torch.testing.assert_close(curve[number], net(point.view(1, *SHAPE)).flatten().detach())


def test_the_curve_of_a_linear_network_is_an_ellipse_around_zero() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 5, bias=False)).double()
    curve = probe_of(net).output_curve(6, size=SHAPE)
    torch.testing.assert_close(curve[:3], -curve[3:])
    assert torch.linalg.matrix_rank(curve) == 2


def test_a_circle_has_length_one_wherever_it_lies() -> None:
    angle = torch.arange(512, dtype=torch.float64) * 2 * math.pi / 512
    plane = torch.linalg.qr(torch.randn(7, 2, dtype=torch.float64)).Q
    curve = 5 + 3 * torch.stack([angle.cos(), angle.sin()], 1) @ plane.T
    places, share = principal_components(curve)
    assert bending(places) == pytest.approx(1, abs=1e-4)
    assert share == pytest.approx(1)
    # four components of one size: three of them hold three quarters
    four = torch.stack([angle.cos(), angle.sin(), (2 * angle).cos(), (2 * angle).sin()], 1)
    assert principal_components(four)[1] == pytest.approx(0.75)
    with pytest.raises(UnsupportedError, match="no curve"):
        principal_components(torch.ones(8, 3))


def test_coordinates_may_be_a_list() -> None:
    probe = Probe(nets.build("residual"), nets.labelled(1))
    assert probe.output_curvature(coordinates=[0, 1]) == probe.output_curvature(coordinates=(0, 1))
