"""Theorem 3 of HNAS: kernels of linear networks by their formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.papers.toy import run

from firstlight.core.errors import SettingError
from firstlight.papers import EXPERIMENTS
from firstlight.papers.hnas_topology import Deep, Wide, condition, expected_scale, kernel, orthonormal


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_kernel_of_a_wide_network_is_n_times_l_times_the_identity(depth: int) -> None:
    theta = kernel(Wide, 6, depth, 4, seed=3)
    assert theta.numpy() == pytest.approx(6 * depth * np.eye(4), abs=1e-9)
    assert condition(theta) == pytest.approx(1)
    assert expected_scale(Wide, 6, depth) == 6 * depth


def test_the_kernel_of_a_deep_network_by_the_products_of_its_matrices() -> None:
    generator = torch.Generator().manual_seed(0)
    network, x = Deep(5, 3, generator), torch.randn(4, 5, generator=generator, dtype=torch.double)
    matrices = [matrix.detach().numpy() for matrix in network.matrices]
    outputs = network(x)
    rows = []
    for output in outputs:
        gradients = torch.autograd.grad(output, list(network.parameters()), retain_graph=True)
        rows.append(torch.cat([gradient.flatten() for gradient in gradients]))
    expected = np.zeros((4, 4))
    for number in range(3):
        before, behind = x.numpy().T, np.ones(5)
        for matrix in matrices[:number]:
            before = matrix @ before
        for matrix in matrices[:number:-1]:
            behind = matrix.T @ behind
        expected += behind @ behind * before.T @ before
    stacked = torch.stack(rows)
    assert (stacked @ stacked.T).numpy() == pytest.approx(expected, rel=1e-9)


def test_the_kernel_of_a_deep_network_is_its_expectation_on_average_only() -> None:
    kernels = [kernel(Deep, 6, 2, 3, seed) for seed in range(600)]
    mean = torch.stack(kernels).mean(0).numpy() / expected_scale(Deep, 6, 2)
    assert mean == pytest.approx(np.eye(3), abs=0.1)
    assert min(map(condition, kernels)) > 1.05


def test_inputs_are_orthonormal() -> None:
    x = orthonormal(4, 7, torch.Generator().manual_seed(0))
    assert (x @ x.T).numpy() == pytest.approx(np.eye(4), abs=1e-9)
    with pytest.raises(SettingError, match="samples is 8; at most 7 inputs"):
        orthonormal(8, 7, torch.Generator())


def test_the_experiment(tmp_path: Path) -> None:
    lines = run(EXPERIMENTS["hnas-theorem3"], data=tmp_path, samples=4, resamples=20, seed=tuple(range(12)), workers=0)
    found = {(line.what, line.on): line for line in lines.findings.lines}
    wide, deep = (found[f"kappa, {name}, median", "width 16, depth 3"] for name in ("wide", "deep"))
    assert wide.verdict == "agrees"
    assert deep.ours is not None
    assert deep.ours.low > 1
