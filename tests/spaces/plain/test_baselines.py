"""Baselines are as wide as limits allow, and get shallower only where no width is small enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firstlight.spaces import SPACES
from firstlight.spaces.plain.baselines import BASELINES, scaled_within
from firstlight.spaces.plain.perceptron import Perceptron
from firstlight.spaces.plain.scaling import widest

every_baseline = pytest.mark.parametrize("name", BASELINES)


def scaled(name: str, params: int, shape: tuple[int, ...] = (3, 32, 32)) -> tuple[Any, Any, int]:
    baseline = BASELINES[name]
    space = SPACES[baseline.space]
    usual, skeleton = space.read(baseline.architecture), space.skeleton(input_shape=shape)
    found = scaled_within(usual, lambda network: space.cost(network, skeleton).params <= params)
    return usual, found, 0 if found is None else space.cost(found, skeleton).params


@every_baseline
@pytest.mark.parametrize("params", [5_000, 20_000, 100_000, 300_000, 2_000_000])
def test_they_fill_the_limit_without_exceeding_it(name: str, params: int) -> None:
    usual, found, size = scaled(name, params)
    assert found is not None
    assert size <= params
    if name != "logistic":
        assert size > 0.45 * params  # widths are multiples of 4, and those of transformers of 12
    if params >= 100_000 and not isinstance(found, Perceptron):
        assert [stage.depth for stage in found.stages] == [stage.depth for stage in usual.stages]


def test_room_that_rounding_leaves_goes_to_the_last_stages() -> None:
    """All widths are multiples of 4: a common factor alone would make a ResNet of 2,950 parameters."""
    _, found, size = scaled("resnet", 6_000, (3, 8, 8))
    assert 5_000 < size <= 6_000
    widths = [stage.width for stage in found.stages]
    assert widths == sorted(widths)
    assert widths[-1] <= 2 * widths[-2]


def test_a_narrow_network_gets_shallower_before_it_is_given_up() -> None:
    usual, found, _ = scaled("mobile", 5_000)
    assert sum(stage.depth for stage in found.stages) < sum(stage.depth for stage in usual.stages)
    assert len(found.stages) == len(usual.stages)
    assert scaled("mobile", 500)[1] is None


def test_perceptrons_average_before_they_lose_layers() -> None:
    assert scaled("mlp", 20_000)[1].average > 1
    assert len(scaled("mlp", 20_000)[1].widths) == 2
    assert scaled("logistic", 5_000)[1] == Perceptron(4)
    assert scaled("logistic", 50_000)[1] == Perceptron(1)
    assert scaled("logistic", 100)[1] is None


def test_the_widest_is_the_last_that_fits() -> None:
    """Against trying every factor of a fine grid."""
    space: Any = SPACES["plain-resnet"]
    usual = space.read("textbook")

    def widen(shape: Any, factor: float) -> Any:
        return replace(shape, stem=replace(shape.stem, width=max(4, 4 * round(shape.stem.width * factor / 4))))

    for limit in (4, 40, 52, 400):
        found = widest(usual, widen, lambda shape, most=limit: shape.stem.width <= most)
        grid = [widen(usual, 1.001**step).stem.width for step in range(-3000, 6000)]
        assert found.stem.width == max(width for width in grid if width <= limit)
    assert widest(usual, widen, lambda shape: False) is None
