"""Training of weight-sharing networks against steps by hand: what is learnt, at which rate, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import cos, inf, pi

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import DataError, DivergedError
from firstlight.core.events import Event
from firstlight.spaces.nasbench201.shared import SharedCells
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.shared import SharedNasRec
from firstlight.spaces.nasrec.space import NasRecSmall
from firstlight.training.shared_weights import recipe_for, train_shared

SHARED = SharedNasRec(NasRecSmall(1))
SKELETON = NasRecSkeleton((8,), dense=5, rows=6)
FEW = replace(recipe_for(SharedNasRec), batch_size=16)


def clicks(count: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Who clicks depends on the first number and on the last category."""
    generator = torch.Generator().manual_seed(7)
    for _ in range(count):
        x = torch.cat([torch.rand(16, 5, generator=generator), torch.randint(6, (16, 3), generator=generator)], 1)
        yield x, (x[:, 0] + x[:, 7] / 6 > 0.9).long()


def weights(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def test_the_whole_network_against_adagrad_by_hand() -> None:
    network, twin = (SHARED.network(SKELETON, seed=3) for _ in range(2))
    told: list[Event] = []
    losses = train_shared(network, clicks(6), 6, SHARED.policy("full"), FEW, callback=told.append)
    assert told == [Event("warm-up", step, 6) for step in range(1, 7)]
    rates = [1e-8] + [1e-8 + (0.12 - 1e-8) * (1 + cos(pi * step / 5)) / 2 for step in range(5)]
    sums = {name: torch.zeros_like(p) for name, p in twin.named_parameters()}
    for (x, y), rate, expected in zip(clicks(6), rates, losses, strict=True):
        loss = F.cross_entropy(twin(x), y)
        assert loss.item() == pytest.approx(expected, rel=1e-4)
        found = torch.autograd.grad(loss, list(twin.parameters()))
        norm = torch.cat([gradient.flatten() for gradient in found]).norm()
        for (name, parameter), gradient in zip(twin.named_parameters(), found, strict=True):
            clipped = gradient * min(1.0, 5 / float(norm))
            sums[name] += clipped.square()
            parameter.data -= rate * clipped / (sums[name].sqrt() + 1e-2)
    torch.testing.assert_close(weights(network), weights(twin), rtol=1e-3, atol=1e-4)


def test_the_same_seed_leads_to_the_same_weights() -> None:
    found = []
    for seed in (0, 0, 1):
        network = SHARED.network(SKELETON)
        train_shared(network, clicks(4), 4, SHARED.policy("single-path"), FEW, seed=seed)
        found.append(weights(network))
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())
    assert not all(torch.equal(value, found[2][name]) for name, value in found[0].items())


def test_what_is_not_on_the_path_stays() -> None:
    shared = SharedCells()
    network = shared.network(firstlight.space("nasbench201").skeleton(channels=2, cells=1, input_shape=(3, 8, 8)))
    before = weights(network)
    images = [(torch.randn(4, 3, 8, 8), torch.arange(4)) for _ in range(2)]
    losses = train_shared(network, images, 2, shared.policy(), replace(recipe_for(shared), batch_size=4))
    assert len(losses) == 2
    moved = {name for name, value in weights(network).items() if not torch.equal(value, before[name])}
    convolutions = [name for name in before if ".operations." in name and name.endswith(".1.weight")]
    assert "stem.0.weight" in moved
    assert 0 < len([name for name in convolutions if name in moved]) < len(convolutions)


@pytest.mark.parametrize(("given", "steps", "message"), [(2, 3, "ended after 2 batches of 3"), (3, 2, "more batches")])
def test_another_number_of_batches(given: int, steps: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        train_shared(SHARED.network(SKELETON), clicks(given), steps, SHARED.policy("full"), FEW)


def test_a_loss_that_is_no_number_names_the_step() -> None:
    batches = list(clicks(3))
    batches[1][0][0, 0] = inf
    with pytest.raises(DivergedError, match="The loss was nan at step 2, in epoch 1"):
        train_shared(SHARED.network(SKELETON), batches, 3, SHARED.policy("full"), FEW)
