"""What a space gets for free."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from torch import nn

from firstlight.spaces import SPACES
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.ops import Linear


@dataclass(frozen=True)
class Width(Architecture):
    width: int

    def __str__(self) -> str:
        return str(self.width)


class Endless(Space[Width]):
    name, summary, reference = "endless", "one hidden layer of any width", ""

    def sample(self, rng: random.Random) -> Width:
        return Width(rng.randrange(1, 10**9))

    def mutate(self, architecture: Width, rng: random.Random) -> Width:
        return Width(architecture.width + 1)

    def parse(self, text: str) -> Width:
        return Width(int(text))

    def canonical(self, architecture: Width) -> Width:
        return architecture

    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        return nn.Sequential(nn.Flatten(), Linear(12, architecture.width), nn.ReLU(), Linear(architecture.width, 2))


def test_the_cost_is_counted_without_memory_for_the_weights() -> None:
    skeleton = Skeleton((3, 2, 2), 2)
    cost = Endless().cost(Width(10**10), skeleton)  # 560 GB if it were built
    assert (cost.params, cost.macs) == (15 * 10**10 + 2, 14 * 10**10)


def test_a_space_without_end_says_so() -> None:
    with pytest.raises(TypeError, match="of 'endless' is not known"):
        len(Endless())
    with pytest.raises(TypeError, match="with sample"):
        iter(Endless())
    assert Endless().drawing(Width(3)) is None


def test_a_skeleton_has_a_text() -> None:
    assert str(Skeleton((3, 8, 8), 2)) == "classes=2,input_shape=3x8x8"


@pytest.mark.parametrize("name", ["nasbench201", "nasbench101", "darts", "plain-resnet", "nasrec-small"])
def test_a_seed_or_a_generator_of_numpy_samples_and_mutates(name: str) -> None:
    space = SPACES[name]
    parent = space.sample(3)
    assert parent == space.sample(random.Random(3)) == space.sample(rng=3)
    assert space.mutate(parent, 5) == space.mutate(parent, rng=random.Random(5))
    theirs = np.random.default_rng(0)
    drawn = {str(space.sample(theirs)) for _ in range(4)}
    assert len(drawn) > 1
    assert space.mutate(parent, np.random.default_rng(1)) == space.mutate(parent, np.random.default_rng(1)) != parent


def test_a_space_of_ones_own_is_always_given_a_generator_of_python() -> None:
    space = Endless()
    assert space.sample(7) == space.sample(random.Random(7))
    assert space.sample(np.random.default_rng(7)) == space.sample(np.random.default_rng(7))
    assert space.mutate_often(Width(1), np.random.default_rng(1), 3) == Width(4)
