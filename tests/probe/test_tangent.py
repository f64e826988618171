"""Bounds on tangent kernels: on kernels whose answer is known, and on networks of one layer."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from firstlight.probe import Probe
from firstlight.probe.tangent import data_bound, linear_loss, loss_bound, ntk_factors, squared_error


def a_kernel(size: int, seed: int) -> torch.Tensor:
    rows = torch.randn(size, 2 * size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return rows @ rows.T


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.1, 0.5, 1.0, 7.0]), st.floats(0.01, 0.99))
def test_the_loss_stays_below_its_bound(seed: int, time: float, share: float) -> None:
    kernel, outputs = a_kernel(6, seed), 3
    targets = torch.rand(2, outputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rate = share / float(torch.linalg.eigvalsh(kernel)[-1])
    assert 0 <= linear_loss(kernel, targets, rate, time) <= loss_bound(kernel, outputs, rate, time)


def test_the_linear_loss_is_that_of_gradient_descent_on_outputs() -> None:
    """With L = |f - y|^2 / 2 in each step f moves by -rate * kernel (f - y)."""
    kernel = a_kernel(6, 1)
    targets = F.one_hot(torch.tensor([0, 2]), 3).double()
    rate = 0.5 / float(torch.linalg.eigvalsh(kernel)[-1])
    outputs = torch.zeros(6, dtype=torch.float64)
    for step in range(4):
        expected = float((outputs - targets.flatten()).square().sum()) / 2  # m = 2 samples
        assert linear_loss(kernel, targets, rate, step) == pytest.approx(expected)
        outputs = outputs - rate * kernel @ (outputs - targets.flatten())


def test_a_kernel_of_equal_eigenvalues_has_a_bound_by_hand() -> None:
    kernel = 2 * torch.eye(4, dtype=torch.float64)
    assert loss_bound(kernel, 2, 0.1, 5) == pytest.approx(2 * 2**2 * 0.8)
    assert loss_bound(kernel, 2, 0.1, 0.25) == pytest.approx(2 * 2**2 * 0.8**0.5)


def test_the_data_bound_by_hand() -> None:
    assert data_bound(100, 7) == pytest.approx(2 * 7 / 100)
    assert data_bound(100, 3, distance=1.5, slope=2.0) == pytest.approx(1.5 * (1 - 2**6) / (1 - 2**2) / 100)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_wide_networks_keep_the_data_bound(layers: int) -> None:
    """Without BatchNorm, in the parameterization of the theory: the difference of two distributions of norm 1."""
    generator, width, inputs = torch.Generator().manual_seed(0), 256, 20
    sizes = [inputs, *[width] * (layers - 1), 4]
    parts: list[nn.Module] = []
    for before, behind in itertools.pairwise(sizes):
        parts += [nn.Linear(before, behind, bias=False), nn.ReLU()]
    network = nn.Sequential(*parts[:-1])
    for layer in network:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, 0, layer.in_features**-0.5, generator=generator)
    traces = []
    for data in (torch.rand(16, inputs, generator=generator), torch.randn(16, inputs, generator=generator)):
        probe = Probe(network, data / data.norm(dim=1, keepdim=True))
        traces.append(probe.exact_trace(samples=16, parameterization="ntk") / (16 * 4))
    assert abs(traces[0] - traces[1]) <= data_bound(inputs, layers)
    if layers == 1:  # the kernel of a linear map is |x|^2 / inputs, whatever the data
        assert traces == pytest.approx([1 / inputs] * 2, rel=1e-5)


def test_factors_are_of_weights_and_leave_out_biases() -> None:
    network = nn.Sequential(nn.Conv2d(2, 3, 3, groups=1), nn.BatchNorm2d(3), nn.Linear(5, 4, bias=False))
    factors = ntk_factors(network)
    assert factors[network[0].weight] == pytest.approx(1 / 18)
    assert factors[network[0].bias] == 0
    assert factors[network[2].weight] == pytest.approx(1 / 5)
    assert network[1].weight not in factors


def test_the_exact_kernel_has_the_exact_trace() -> None:
    network = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    probe = Probe(network, torch.randn(4, 6, generator=torch.Generator().manual_seed(0)))
    for parameterization in ("standard", "ntk"):
        kernel = probe.exact_kernel(samples=4, parameterization=parameterization)
        assert kernel.shape == (12, 12)
        trace = probe.exact_trace(samples=4, parameterization=parameterization)
        assert float(kernel.trace()) == pytest.approx(trace, rel=1e-5)
    first = probe.batches[0].inputs[0][1]
    (gradient,) = torch.autograd.grad(network(first)[2], [network[2].weight])
    assert probe.exact_kernel(samples=4)[5, 5] > float(
        gradient.square().sum()
    )  # rows: sample by sample, logit by logit


def test_the_squared_error_by_hand() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert float(squared_error(logits, torch.tensor([0, 1]))) == pytest.approx((0 + 0.25 + 0.25) / 2)
