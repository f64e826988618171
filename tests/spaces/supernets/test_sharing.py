"""Modules that use the weights of others: which part of them, when they are run, and that nothing is copied."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from firstlight.spaces.supernets.sharing import SomeColumns, Unseen, sharing_copy


class Counting(nn.Module):
    """Tells how often it was run."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.runs = 0

    def forward(self, x: Tensor) -> Tensor:
        self.runs += 1
        out: Tensor = self.linear(x)
        return out


def test_columns_stand_for_inputs_that_are_zero_elsewhere() -> None:
    whole = nn.Linear(10, 6).double()
    x = torch.zeros(3, 10, dtype=torch.float64)
    given = torch.arange(15.0, dtype=torch.float64).view(3, 5)
    x[:, 1:3], x[:, 3:4], x[:, 8:10] = given[:, :2], given[:, 2:3], given[:, 3:]
    part = SomeColumns(whole, [(1, 3), (3, 4), (8, 10)])
    assert part.columns == [(1, 4), (8, 10)]  # neighbors are one piece
    torch.testing.assert_close(part(given), whole(x))
    torch.testing.assert_close(SomeColumns(whole, [(1, 4), (8, 10)], (2, 5))(given), whole(x)[:, 2:5])
    assert (part.in_features, part.out_features) == (5, 6)


def test_what_is_unseen_is_run_once_for_the_same_inputs_and_weights() -> None:
    module = Counting()
    unseen = Unseen(module)
    x, other = torch.randn(4, 3), torch.randn(4, 3)
    for given, runs in ((x, 1), (x.clone(), 1), (other, 2), (x, 2)):
        torch.testing.assert_close(unseen(given), module.linear(given).detach())
        assert module.runs == runs
    assert not unseen(x).requires_grad
    with torch.no_grad():
        module.linear.weight.mul_(2)
    torch.testing.assert_close(unseen(x), module.linear(x).detach())
    assert module.runs == 3
    for _ in range(2):
        assert unseen(x.requires_grad_()).requires_grad
    assert module.runs == 5
    assert copy.deepcopy(unseen) is unseen


def test_a_sharing_copy_follows_the_weights_and_learns_by_itself() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    twin = sharing_copy(module)
    with torch.no_grad():
        module[0].weight.fill_(0.5)
    assert torch.equal(twin[0].weight, module[0].weight)
    twin(torch.randn(4, 3)).sum().backward()
    assert twin[0].weight.grad is not None
    assert module[0].weight.grad is None
    assert not torch.equal(twin[1].running_mean, module[1].running_mean)
