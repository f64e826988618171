"""Steps of training against updates written out by hand."""

from __future__ import annotations

from math import cos, pi, sqrt

import pytest
import torch
from torch import Tensor

from firstlight.probe import Probe
from firstlight.probe.steps import take_steps, warm_cosine


def losses(weight: Tensor, targets: list[list[float]]) -> list[object]:
    return [lambda target=target: (weight - torch.tensor(target)).square().sum() / 2 for target in targets]


def test_plain_steps_by_hand() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    found = take_steps(losses(weight, [[0.0, 0.0], [1.0, -1.0]]), {"w": weight}, optimizer)  # type: ignore[arg-type]
    assert [g["w"].tolist() for g in found.gradients] == [[1.0, 2.0], [-0.5, 2.0]]  # at (1, 2), then at (0.5, 1)
    assert found.losses == [2.5, 2.125]
    assert found.weights["w"].tolist() == [0.75, 0.0]


def test_clipped_gradients_are_what_is_seen_and_stepped_along() -> None:
    weight = torch.tensor([30.0, 40.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    found = take_steps(losses(weight, [[0.0, 0.0]]), {"w": weight}, optimizer, clip=5.0)  # type: ignore[arg-type]
    assert found.gradients[0]["w"].tolist() == pytest.approx([3.0, 4.0], rel=1e-5)
    assert found.weights["w"].tolist() == pytest.approx([27.0, 36.0], rel=1e-5)
    assert found.losses == [1250.0]


def test_the_rate_is_set_before_each_step() -> None:
    weight = torch.tensor([8.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=99.0)
    found = take_steps(
        losses(weight, [[0.0], [0.0]]),  # type: ignore[arg-type]
        {"w": weight},
        optimizer,
        rate=lambda step: [0.5, 0.25][step],
    )
    assert [g["w"].item() for g in found.gradients] == [8.0, 4.0]
    assert found.weights["w"].item() == 3.0


def test_parameters_that_the_loss_does_not_reach_have_no_gradient() -> None:
    weight, idle = (torch.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([weight, idle], lr=0.5)
    found = take_steps(losses(weight, [[0.0]]), {"w": weight, "idle": idle}, optimizer)  # type: ignore[arg-type]
    assert list(found.gradients[0]) == ["w"]
    assert found.weights["idle"].item() == 1.0


def test_a_rate_that_warms_up_and_falls_by_half_a_cosine() -> None:
    rate = warm_cosine(0.04, 500, 50, floor=1e-8)
    assert rate(0) == 1e-8
    assert [rate(1), rate(2), rate(49), rate(50)] == pytest.approx([0.0008, 0.0016, 0.0392, 0.04], rel=1e-4)
    assert rate(275) == pytest.approx(0.02, rel=1e-4)
    assert rate(500) == pytest.approx(1e-8)
    assert rate(140) == pytest.approx(0.04 * (1 + cos(pi / 5)) / 2, rel=1e-4)


def test_steps_towards_clicks_have_the_published_rates() -> None:
    """From the way that a single weight goes: Adagrad's step is the rate times the gradient by its accumulated size."""
    model = torch.nn.Linear(1, 1, bias=False).double()
    batches = [(torch.ones(1, 1).double() * number, torch.ones(1, 1).double()) for number in (1.0, 2.0, 3.0, 4.0)]
    found = Probe(model, batches, loss=lambda logits, targets: (logits * targets).sum())
    slopes = [1.0, 2.0, 3.0, 4.0]  # of a loss that is linear in the weight
    rates = [1e-8, 1e-8, 8e-4, 1.6e-3]
    way = sum(
        rate * slope / (sqrt(sum(s**2 for s in slopes[: number + 1])) + 1e-2)
        for number, (rate, slope) in enumerate(zip(rates, slopes, strict=True))
    )
    moved = model.weight.detach() - found.training_steps(recipe="adagrad").weights["weight"]
    assert moved.item() == pytest.approx(way, rel=1e-3)
