"""The stages of a network: by resolution, with all parameters, and without a trace."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from firstlight.probe.stages import UNUSED, VECTOR, Stage, find_stages
from firstlight.spaces import SPACES


class Idle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.idle = nn.Linear(5, 5)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.again = self.stem
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.down(self.stem(x)).mean((2, 3)))


def test_layers_are_grouped_by_resolution_and_idle_ones_come_last() -> None:
    model = Idle().train()
    stages = find_stages(model, torch.zeros(1, 3, 8, 8))
    assert [stage.resolution for stage in stages] == ["8x8", "4x4", VECTOR, UNUSED]
    assert [stage.widths for stage in stages] == [(8, 8), (16, 16), (4, 4), (0, 0)]
    assert [stage.params for stage in stages] == [8 * 27 + 8, 16 * 72 + 16, 16 * 4 + 4, 30]
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())
    assert [Stage.from_dict(stage.to_dict()) for stage in stages] == list(stages)


@pytest.mark.parametrize(
    "name", ["nasbench201", "darts", "plainnet-resnet", "autoformer-tiny", "plain-vit", "plain-mlp"]
)
def test_the_parameters_of_all_stages_are_those_of_the_network(name: str) -> None:
    space = SPACES[name]
    architecture = space.sample(random.Random(1))
    network = space.build(architecture)
    stages = find_stages(network, torch.zeros(1, *space.skeleton().input_shape))
    assert sum(stage.params for stage in stages) == sum(parameter.numel() for parameter in network.parameters())
    assert len({stage.resolution for stage in stages}) == len(stages)


def test_a_network_that_fails_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(3, 2)).train()
    with pytest.raises(RuntimeError):
        find_stages(model, torch.zeros(1, 5))
    assert model.training
    assert not model[0]._forward_hooks
