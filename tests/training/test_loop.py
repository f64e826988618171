"""The training loop against steps by hand: what is learned, at which rate, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import DataError, DivergedError
from firstlight.core.events import Event
from firstlight.training.loop import Loop, class_loss, learn, make_optimizer
from firstlight.training.recipe import TrainingRecipe

RECIPE = TrainingRecipe(epochs=2, batch_size=5, momentum=0.5, weight_decay=0.01, label_smoothing=0.1, clip_norm=0.3)


def batches(count: int) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randn(5, 4, generator=generator), torch.randint(3, (5,), generator=generator)


def linear() -> nn.Linear:
    network = nn.Linear(4, 3)
    with torch.no_grad():
        network.weight.copy_(torch.linspace(-1, 1, 12).view(3, 4))
        network.bias.zero_()
    return network


def test_steps_are_those_of_sgd_by_hand() -> None:
    network, twin, told = linear(), linear(), list[Event]()
    losses = learn(network, batches(4), RECIPE, 4, callback=told.append)
    assert told == [Event("training", step, 4) for step in range(1, 5)]
    momenta = [torch.zeros_like(parameter) for parameter in twin.parameters()]
    for step, (x, y) in enumerate(batches(4)):
        loss = F.cross_entropy(twin(x), y, label_smoothing=0.1)
        assert losses[step] == pytest.approx(loss.item())
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        rate = RECIPE.learning_rate_at(step, 4)
        for parameter, momentum, gradient in zip(twin.parameters(), momenta, gradients, strict=True):
            now = gradient * min(1.0, 0.3 / float(norm)) + 0.01 * parameter.data
            momentum.mul_(0.5).add_(now)
            parameter.data -= rate * (now + 0.5 * momentum)  # Nesterov
    torch.testing.assert_close(network.state_dict(), twin.state_dict())


def test_epochs_one_by_one_are_the_same_as_all_at_once() -> None:
    whole, parts, given = linear(), linear(), list(batches(4))
    learn(whole, given, RECIPE, 4)
    loop = Loop(parts, RECIPE, 4)
    seen = [step for half in (given[:2], given[2:]) for step in loop.run(half)]
    assert [step.number for step in seen] == [1, 2, 3, 4]
    assert [step.samples for step in seen] == [5] * 4
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(whole.parameters(), parts.parameters(), strict=True))


def test_hits_are_counted_before_the_step() -> None:
    network, (x, y) = linear(), next(batches(1))
    right = int((network(x).argmax(1) == y).sum())
    (step,) = Loop(network, RECIPE, 1).run([(x, y)])
    assert step.correct == right


def test_what_comes_before_a_step_is_told_its_number() -> None:
    numbers: list[int] = []
    learn(linear(), batches(3), RECIPE, 3, before_step=numbers.append)
    assert numbers == [0, 1, 2]


@pytest.mark.parametrize(("given", "steps", "message"), [(2, 3, "ended after 2 batches of 3"), (3, 2, "more batches")])
def test_another_number_of_batches(given: int, steps: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        learn(linear(), batches(given), RECIPE, steps)


def test_a_loss_that_is_not_finite_names_the_step_and_the_epoch() -> None:
    given = list(batches(4))
    given[2][0][0, 0] = torch.nan
    network = linear()
    with pytest.raises(DivergedError, match=r"The loss was nan at step 3, in epoch 2\."):
        learn(network, given, RECIPE, 4)
    assert all(bool(parameter.isfinite().all()) for parameter in network.parameters())  # the step was not taken


def test_a_gradient_that_is_not_finite_stops_the_training() -> None:
    class Steep(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + (0 * super().forward(x)).sqrt()  # whose derivative at 0 is infinite

    with pytest.raises(DivergedError, match="The norm of the gradient was nan at step 1"):
        learn(Steep(4, 3), batches(1), RECIPE, 1)


def test_optimizers() -> None:
    adagrad = replace(RECIPE, optimizer="adagrad", momentum=0, nesterov=False, eps=0.5)
    found = make_optimizer(linear().parameters(), adagrad)
    assert isinstance(found, torch.optim.Adagrad)
    assert {name: found.defaults[name] for name in ("lr", "eps", "weight_decay")} == {
        "lr": 0.1,
        "eps": 0.5,
        "weight_decay": 0.01,
    }
    assert isinstance(make_optimizer(linear().parameters(), RECIPE), torch.optim.SGD)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_one_logit_or_two_are_the_same_loss(smoothing: float) -> None:
    logit, labels = torch.randn(6, 1), torch.arange(6) % 2
    two = torch.cat([torch.zeros_like(logit), logit], 1)
    assert class_loss(logit, labels, smoothing).item() == pytest.approx(class_loss(two, labels, smoothing).item())
