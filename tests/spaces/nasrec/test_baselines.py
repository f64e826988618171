"""Hand-made networks for clicks: their sizes in closed form, their formulas, and that they learn."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.spaces.nasrec.baselines import BASELINES, DeepFm, Dlrm, LogisticRegression, build_baseline
from firstlight.spaces.nasrec.network import NasRecSkeleton

SKELETON = NasRecSkeleton((9,), dense=5, categories=(7, 3, 4, 6))
DENSE, FIELDS, ROWS = 5, 4, 20


def inputs(samples: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    columns = [torch.randint(rows, (samples, 1), generator=generator) for rows in SKELETON.tables]
    return torch.cat([torch.rand(samples, DENSE, generator=generator), *columns], 1)


def layers(*sizes: int) -> int:
    return sum(one * other + other for one, other in itertools.pairwise(sizes))


@pytest.mark.parametrize(
    ("name", "sizes", "expected"),
    [
        ("logistic", {}, ROWS + DENSE + 1),
        ("dnn", {}, 16 * ROWS + layers(DENSE + 16 * FIELDS, 400, 400, 400, 1)),
        ("dnn", {"hidden": (8, 3)}, 16 * ROWS + layers(DENSE + 16 * FIELDS, 8, 3, 1)),
        ("dlrm", {}, 16 * ROWS + layers(DENSE, 512, 256, 64, 16) + layers(16 + 10, 512, 256, 1)),
        ("dlrm", {"bottom": (8,), "top": (9,)}, 16 * ROWS + layers(DENSE, 8, 16) + layers(16 + 10, 9, 1)),
        ("deepfm", {}, 17 * ROWS + DENSE + 1 + layers(DENSE + 16 * FIELDS, 400, 400, 400, 1)),
    ],
)
def test_sizes(name: str, sizes: dict[str, tuple[int, ...]], expected: int) -> None:
    network = build_baseline(name, SKELETON, **sizes)
    assert sum(parameter.numel() for parameter in network.parameters()) == expected


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_they_run_forward_and_back(name: str, classes: int) -> None:
    network = build_baseline(name, NasRecSkeleton((9,), classes, dense=5, categories=(7, 3, 4, 6)))
    x = inputs()
    logits = network(x)
    assert logits.shape == (6, classes)
    torch.testing.assert_close(network(x[:, :5], x[:, 5:].long()), logits)
    if classes > 1:
        assert not logits[:, 0].any()
    logits.square().sum().backward()
    assert all(
        parameter.grad is not None and bool(parameter.grad.isfinite().all()) for parameter in network.parameters()
    )


@pytest.mark.parametrize("name", BASELINES)
def test_weights_follow_from_the_seed(name: str) -> None:
    one, same, other = (build_baseline(name, SKELETON, seed=seed)(inputs()) for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)


@torch.no_grad()
def test_logistic_regression_by_hand() -> None:
    network = build_baseline("logistic", SKELETON)
    assert isinstance(network, LogisticRegression)
    row = inputs(1)[0]
    expected = float(network.numbers.weight[0] @ row[:5] + network.numbers.bias)
    for table, category in zip(network.categories, row[5:].long().tolist(), strict=True):
        assert isinstance(table, nn.Embedding)
        expected += float(table.weight[category, 0])
    assert network(row[None])[0, 1].item() == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_the_factorization_machine_by_hand() -> None:
    network = build_baseline("deepfm", SKELETON)
    assert isinstance(network, DeepFm)
    x = inputs(1)
    vectors = network.deep.embeddings(x[:, 5:])[0]
    products = sum(float(one @ other) for one, other in itertools.combinations(vectors, 2))
    others = network.first_order(x)[0, 1] + network.deep(x)[0, 1]
    assert network(x)[0, 1].item() == pytest.approx(products + float(others), rel=1e-5)


@torch.no_grad()
def test_dlrm_by_hand() -> None:
    network = build_baseline("dlrm", SKELETON, top=(3,))
    assert isinstance(network, Dlrm)
    x = inputs(1)
    dense = network.bottom(x[:, :5])[0]
    vectors = [dense, *network.embeddings(x[:, 5:])[0]]
    products = [float(vectors[one] @ vectors[other]) for one in range(5) for other in range(one)]
    expected = network.top(torch.cat([dense, torch.tensor(products)]))
    torch.testing.assert_close(network(x)[0, 1:], expected)


@pytest.mark.parametrize("name", ["dnn", "dlrm", "deepfm"])
def test_they_learn_what_two_categories_are_together(name: str) -> None:
    """Which no sum of weights can tell."""
    x = torch.zeros(64, 9)
    x[:, 5:7] = torch.randint(2, (64, 2), generator=torch.Generator().manual_seed(0))
    labels = (x[:, 5] == x[:, 6]).long()
    losses = {}
    for each in (name, "logistic"):
        network = build_baseline(each, SKELETON)
        optimiser = torch.optim.Adagrad(network.parameters(), lr=0.1)
        for _ in range(40):
            optimiser.zero_grad()
            loss = F.cross_entropy(network(x), labels)
            loss.backward()
            optimiser.step()
        losses[each] = loss.item()
    assert losses[name] < 0.1 < 0.6 < losses["logistic"]


def test_unknown_names_and_sizes() -> None:
    with pytest.raises(UnknownNameError, match="deepfm, dlrm, dnn, logistic"):
        build_baseline("wide", SKELETON)
    with pytest.raises(SettingError, match=r"It has: bottom, top"):
        build_baseline("dlrm", SKELETON, hidden=(3,))
    with pytest.raises(SettingError, match=r"hidden=\(3, 0\) is not a size"):
        build_baseline("dnn", SKELETON, hidden=(3, 0))
