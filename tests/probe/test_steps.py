"""Steps of training against updates written out by hand."""

from __future__ import annotations

from math import cos, pi

import pytest
import torch
from torch import Tensor

from firstlight.probe.steps import take_steps, warm_cosine


def losses(weight: Tensor, targets: list[list[float]]) -> list[object]:
    return [lambda target=target: (weight - torch.tensor(target)).square().sum() / 2 for target in targets]


def test_plain_steps_by_hand() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=0.5)
    found = take_steps(losses(weight, [[0.0, 0.0], [1.0, -1.0]]), {"w": weight}, optimiser)  # type: ignore[arg-type]
    assert [g["w"].tolist() for g in found.gradients] == [[1.0, 2.0], [-0.5, 2.0]]  # at (1, 2), then at (0.5, 1)
    assert found.losses == [2.5, 2.125]
    assert found.weights["w"].tolist() == [0.75, 0.0]


def test_clipped_gradients_are_what_is_seen_and_stepped_along() -> None:
    weight = torch.tensor([30.0, 40.0], requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=1.0)
    found = take_steps(losses(weight, [[0.0, 0.0]]), {"w": weight}, optimiser, clip=5.0)  # type: ignore[arg-type]
    assert found.gradients[0]["w"].tolist() == pytest.approx([3.0, 4.0], rel=1e-5)
    assert found.weights["w"].tolist() == pytest.approx([27.0, 36.0], rel=1e-5)
    assert found.losses == [1250.0]


def test_the_rate_is_set_before_each_step() -> None:
    weight = torch.tensor([8.0], requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=99.0)
    found = take_steps(
        losses(weight, [[0.0], [0.0]]),  # type: ignore[arg-type]
        {"w": weight},
        optimiser,
        rate=lambda step: [0.5, 0.25][step],
    )
    assert [g["w"].item() for g in found.gradients] == [8.0, 4.0]
    assert found.weights["w"].item() == 3.0


def test_parameters_that_the_loss_does_not_reach_have_no_gradient() -> None:
    weight, idle = (torch.tensor([1.0], requires_grad=True) for _ in range(2))
    optimiser = torch.optim.SGD([weight, idle], lr=0.5)
    found = take_steps(losses(weight, [[0.0]]), {"w": weight, "idle": idle}, optimiser)  # type: ignore[arg-type]
    assert list(found.gradients[0]) == ["w"]
    assert found.weights["idle"].item() == 1.0


def test_a_rate_that_warms_up_and_falls_by_half_a_cosine() -> None:
    rate = warm_cosine(0.04, 500, 50)
    assert [rate(0), rate(1), rate(49), rate(50)] == pytest.approx([0.0008, 0.0016, 0.04, 0.04])
    assert rate(275) == pytest.approx(0.02)
    assert rate(500) == pytest.approx(0.0)
    assert rate(140) == pytest.approx(0.04 * (1 + cos(pi / 5)) / 2)
