"""Correlations of Jacobians, written out with numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import nets, slow
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import DataError
from firstlight.probe import Probe
from firstlight.proxies.jacobian import K, epe_nas, jacov

NETS = ["residual", "smooth", "attention", "plain"]


@pytest.mark.parametrize("name", NETS)
def test_jacov_by_numpy(name: str) -> None:
    x = nets.images(5)
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(slow.input_jacobian(nets.build(name), x).numpy()))
    expected = -sum(np.log(v + K) + 1 / (v + K) for v in eigenvalues)
    assert jacov(Probe(nets.build(name), x)).value == pytest.approx(expected, rel=1e-7)


def linear_in_sample(rows: Tensor) -> nn.Module:
    """A network whose Jacobian for sample i is row i."""

    class Chosen(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x * rows.to(x)).sum(1, keepdim=True)

    return Chosen()


def test_uncorrelated_samples_reach_the_best_value() -> None:
    rows = torch.tensor([[1.0, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], dtype=torch.float64)
    probe = Probe(linear_in_sample(rows), torch.ones(3, 4, dtype=torch.float64))
    assert jacov(probe).value == pytest.approx(-3, abs=1e-4)
    alike = Probe(linear_in_sample(rows[[0, 0, 0]]), torch.ones(3, 4, dtype=torch.float64))
    assert jacov(alike).value == pytest.approx(-2 / K - 2 * np.log(K) - np.log(3) - 1 / 3, rel=1e-6)


def test_a_jacobian_that_does_not_vary_is_correlated_with_nothing() -> None:
    rows = torch.tensor([[1.0, -1, 1, -1], [2, 2, 2, 2]], dtype=torch.float64)
    probe = Probe(linear_in_sample(rows), torch.ones(2, 4, dtype=torch.float64))
    assert jacov(probe).value == pytest.approx(-(np.log(1 + K) + 1 / (1 + K) + np.log(K) + 1 / K))


def test_scale_and_order_of_samples_do_not_matter() -> None:
    x, order = nets.images(5), [4, 2, 0, 1, 3]
    labels = torch.tensor([0, 0, 1, 1, 1])
    net = nets.build("plain")
    found, shuffled = Probe(net, (x, labels)), Probe(net, (x[order], labels[order]))
    assert jacov(shuffled).value == pytest.approx(jacov(found).value, rel=1e-9)
    assert epe_nas(shuffled).value == pytest.approx(epe_nas(found).value, rel=1e-9)
    with torch.no_grad():
        net[-1].weight.mul_(10)
    scaled = Probe(net, (x, labels))
    assert jacov(scaled).value == pytest.approx(jacov(found).value, rel=1e-9)
    assert epe_nas(scaled).value == pytest.approx(epe_nas(found).value, rel=1e-9)


def wide(name: str, classes: int) -> nn.Module:
    """The network with so many logits, of which all but its own are zero."""
    return nn.Sequential(nets.build(name), nn.ZeroPad1d((0, classes - 5 + (name == "smooth"))))


def energies(name: str, x: Tensor, labels: list[int]) -> dict[int, list[float]]:
    """For each class, the terms of all its pairs of samples."""
    jacobian = slow.input_jacobian(nets.build(name), x).numpy()
    found: dict[int, list[float]] = {}
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            if a == b:
                correlation = np.corrcoef(jacobian[i], jacobian[j])[0, 1]
                found.setdefault(a, []).append(float(np.log(abs(correlation) + K)))
    return found


@pytest.mark.parametrize("name", NETS)
def test_epe_nas_pair_by_pair(name: str) -> None:
    x, labels = nets.images(6), [0, 2, 0, 1, 2, 2]
    expected = sum(abs(sum(terms)) for terms in energies(name, x, labels).values())
    assert epe_nas(Probe(nets.build(name), (x, torch.tensor(labels)))).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", NETS)
def test_epe_nas_of_more_than_a_hundred_classes(name: str) -> None:
    """Each class's sum over its number of samples; classes of one sample do not count."""
    x, labels = nets.images(8), [7, 120, 7, 3, 120, 120, 55, 3]
    sizes = [sum(t) / len(t) ** 0.5 for t in energies(name, x, labels).values() if len(t) > 1]
    expected = sum(abs(a - b) for a in sizes for b in sizes) / len(sizes)
    found = epe_nas(Probe(wide(name, 121), (x, torch.tensor(labels)))).value
    assert found == pytest.approx(expected, rel=1e-7)
    assert len(sizes) == 3


def test_a_hundred_classes_are_not_more_than_a_hundred() -> None:
    x, labels = nets.images(4), torch.tensor([0, 0, 4, 4])
    few, hundred, more = (epe_nas(Probe(wide("plain", classes), (x, labels))).value for classes in (5, 100, 101))
    assert few == hundred != more


def test_labels_beyond_the_logits_are_refused() -> None:
    with pytest.raises(DataError, match="0 to 4"):
        epe_nas(Probe(nets.build("plain"), (nets.images(4), torch.tensor([0, 0, 5, 5]))))


def test_one_hot_labels_are_labels() -> None:
    x, labels = nets.images(5), torch.tensor([0, 1, 1, 0, 2])
    one_hot = nn.functional.one_hot(labels).double()
    net = nets.build("plain")
    assert epe_nas(Probe(net, (x, one_hot))).value == epe_nas(Probe(net, (x, labels))).value


def test_batches_too_small_to_correlate() -> None:
    net, x = nets.build("plain"), nets.images(3)
    assert firstlight.score(net, x[:1], "jacov")["jacov"].status == "unsupported"
    score = firstlight.score(net, (x, torch.tensor([0, 1, 2])), "epe_nas")["epe_nas"]
    assert score.status == "unsupported"
    assert "larger batch" in score.note
