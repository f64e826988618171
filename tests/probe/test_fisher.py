"""The Fisher information against finite differences, and the entropy of its deciles."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests import nets
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.fisher import (
    DerivativeRecorder,
    derivatives_of_batch,
    derivatives_of_samples,
    outside_of_layers,
    quantile_entropy,
)


class ChannelNorm(nn.LayerNorm):
    """Normalizes another dimension than its base class."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


def network(name: str) -> nn.Module:
    """One of the usual networks, or one of strides, dilations, groups, normalizations of tokens, and a shared layer."""
    if name not in ("strided", "channels"):
        return nets.build(name)
    torch.manual_seed(0)
    if name == "channels":
        return nn.Sequential(nn.Conv2d(3, 8, 3), ChannelNorm(8), nn.Tanh(), nn.Flatten(), nn.Linear(288, 3)).double()
    shared = nn.Conv2d(4, 4, 1)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=(2, 1), bias=False),
        nn.BatchNorm2d(4),
        shared,
        nn.Tanh(),
        shared,
        nn.Conv2d(4, 8, 3, dilation=2, padding=2, groups=2),
        nn.GroupNorm(2, 8),
        nn.Flatten(2),
        nn.LayerNorm(20),
        nn.Linear(20, 6),
        nn.SiLU(inplace=True),
        nn.Flatten(),
        nn.Linear(48, 4),
    ).double()


def slow_fisher(model: nn.Module, x: Tensor, tensors: int, step: float = 1e-6) -> np.ndarray:
    """Each parameter is moved by itself; expectations over classes are sums."""
    model.eval()
    chosen = list(model.parameters())[:tensors]
    with torch.no_grad():
        probabilities = 0.95 * model(x).softmax(1).numpy() + 0.05 / model(x).shape[1]
        derivatives = []
        for parameter in chosen:
            outs = []
            for sign in (1, -1):
                parameter.view(-1)[0] += sign * step
                outs.append(model(x).numpy())
                parameter.view(-1)[0] -= sign * step
            derivatives.append((outs[0] - outs[1]) / (2 * step))
    jacobian = np.array(derivatives)  # tensors, samples, classes
    total = np.zeros((len(chosen), len(chosen)))
    for n, p in enumerate(probabilities):
        centered = jacobian[:, n] - jacobian[:, n] @ p[:, None]  # derivatives minus their mean under p
        for c in range(len(p)):
            total += p[c] * np.outer(centered[:, c], centered[:, c])
    return total / len(x)


@pytest.mark.parametrize("name", ["smooth", "attention", "gated", "mlp", "strided", "channels"])
@pytest.mark.parametrize("tensors", [3, 128])
def test_against_finite_differences(name: str, tensors: int) -> None:
    x = nets.images(3)
    found = Probe(network(name), x).fisher_matrix(tensors=tensors, given=True)
    np.testing.assert_allclose(found.numpy(), slow_fisher(network(name), x, tensors), rtol=1e-5, atol=1e-9)


def test_weights_and_inputs_are_drawn_and_follow_the_seed() -> None:
    def found(weights: int, inputs: int, seed: int) -> Tensor:
        return Probe(nets.build("residual", seed=weights), nets.images(2, seed=inputs), seed=seed).fisher_matrix()

    assert torch.equal(found(0, 0, 0), found(5, 6, 0))
    assert not torch.equal(found(0, 0, 0), found(0, 0, 1))


def test_equal_singular_values_have_the_highest_entropy() -> None:
    assert quantile_entropy(torch.eye(20, dtype=torch.float64)) == pytest.approx(math.log(9), abs=1e-8)
    single = torch.zeros(20, 20, dtype=torch.float64)
    single[0, 0] = 1
    assert quantile_entropy(single) == pytest.approx(0, abs=1e-6)
    assert math.isnan(quantile_entropy(single * math.nan))


def test_entropy_by_hand() -> None:
    values = [float(n) for n in range(11)]  # whose deciles are 1 to 9
    shares = [n / 45 for n in range(1, 10)]
    expected = -sum(share * math.log(share) for share in shares)
    assert quantile_entropy(torch.diag(torch.tensor(values, dtype=torch.float64))) == pytest.approx(expected, abs=1e-8)


def test_logits_must_be_a_row() -> None:
    with pytest.raises(UnsupportedError, match="one row of logits"):
        derivatives_of_samples([torch.zeros(1, 5, 2, 2)], [])


@pytest.mark.parametrize("name", ["residual", "smooth", "plain", "strided"])
def test_a_batch_at_once_or_sample_by_sample(name: str) -> None:
    model, x = network(name).eval(), nets.images(3)
    tensors = list(model.parameters())
    assert not outside_of_layers(model, tensors)
    recorder = DerivativeRecorder(tensors, 3)
    with recorder.watching(model):
        together = derivatives_of_batch(model(x), tensors, recorder)
    single = derivatives_of_samples([model(x[i : i + 1]) for i in range(3)], tensors)
    torch.testing.assert_close(together, single)


def test_parameters_outside_of_known_layers() -> None:
    for name in ("attention", "channels"):
        model = network(name)
        assert outside_of_layers(model, model.parameters())
