"""ZeroLM against Frobenius norms of Xavier weights."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from torch import Tensor, nn

from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.proxies.zerolm import zerolm


def test_value_by_hand() -> None:
    """The only attention weight comes first; then the MLP and the classifier."""
    generator = torch_generator(4, "matrix energies")
    energies = []
    for rows, columns in ((48, 16), (24, 16), (16, 24), (5, 16)):
        drawn = torch.randn(rows, columns, generator=generator, dtype=torch.float64) * (2 / (rows + columns)) ** 0.5
        energies.append(sum(float(w) ** 2 for w in drawn.flatten()) / min(rows, columns))
    for alpha in (1.0, 0.3):
        found = zerolm(Probe(nets.build("attention"), nets.images(1), seed=4), alpha=alpha)
        assert found.parts == pytest.approx({"attention": energies[0], "others": sum(energies[1:])})
        assert found.value == pytest.approx(sum(energies[1:]) + alpha * energies[0])


class Wide(nn.Module):
    """Attention of 64 and an MLP of 256."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 192)
        self.mlp = nn.Linear(64, 256)

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(x.flatten(1)[:, :64]) + self.qkv(x.flatten(1)[:, :64]).sum(1, keepdim=True)


def test_large_matrices_have_the_expected_norm() -> None:
    """The square of the norm of a Xavier matrix is 2 m n / (m + n) on average."""
    found = zerolm(Probe(Wide(), nets.images(1).float())).parts
    assert found["attention"] == pytest.approx(2 * 192 / 256, rel=0.05)
    assert found["others"] == pytest.approx(2 * 256 / 320, rel=0.05)
