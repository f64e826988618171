"""Correlations of ReLU inputs and their gradients, against NumPy on tensors that autograd keeps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests import nets
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.responses import block_numbers, correlations

LABELS = torch.tensor([0, 3, 1, 4])
# The block of each ReLU module, in order
NUMBERS = {"residual": [0], "plain": [0, 1, 2]}


def slow_responses(model: nn.Module, x: Tensor, numbers: list[int]) -> np.ndarray:
    model.train()
    kept: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        inputs[0].retain_grad()
        kept.append(inputs[0])
        return inputs[0] + 0  # not in place

    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_pre_hook(keep)
    F.cross_entropy(model(x), LABELS).backward()
    total = np.zeros((len(x), len(x)))
    for number, tensor in zip(numbers, kept, strict=True):
        for values in (tensor.detach(), tensor.grad):
            assert values is not None
            total += 2**number * np.abs(np.corrcoef(values.flatten(1).numpy()))
    return total


@pytest.mark.parametrize("name", NUMBERS)
def test_against_numpy(name: str) -> None:
    x = nets.images(4)
    found = Probe(nets.build(name), (x, LABELS)).response_correlations()
    np.testing.assert_allclose(found.numpy(), slow_responses(nets.build(name), x, NUMBERS[name]), rtol=1e-9)


class Blocks(nn.Module):
    """A ReLU before all blocks, two within the second, and one behind the last."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU())
        self.blocks = nn.ModuleList(
            [nn.Conv2d(4, 4, 1), nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 1), nn.ReLU()), nn.Conv2d(4, 4, 1)]
        )
        self.end = nn.ReLU()

    def feature_blocks(self) -> list[nn.Module]:
        return list(self.blocks)


def test_relus_count_by_the_block_that_they_are_in() -> None:
    assert list(block_numbers(Blocks()).values()) == [0, 1, 1, 3]
    with pytest.raises(UnsupportedError, match="no blocks"):
        block_numbers(nets.build("mlp"))


def test_a_constant_row_is_not_correlated() -> None:
    rows = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [3.0, 2.0, 1.0]])
    expected = torch.tensor([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]])
    torch.testing.assert_close(correlations(rows), expected)
