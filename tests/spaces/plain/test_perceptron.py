"""Perceptrons: their text, what is built, their cost, and logistic regression."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Space
from firstlight.spaces.plain.perceptron import AVERAGES, MOST_LAYERS, Perceptron, PlainMLP

SPACE = PlainMLP()
WIDTHS = st.integers(1, 512).map(lambda n: 4 * n)


@given(st.sampled_from(AVERAGES), st.lists(WIDTHS, max_size=MOST_LAYERS))
def test_every_shape_reads_back(average: int, widths: list[int]) -> None:
    shape = Perceptron(average, tuple(widths))
    assert SPACE.parse(str(shape)) == shape


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'a'"),
        ("a3/64", "averaged squares, one of 1, 2, 4, 8"),
        ("a1/", "a width"),
        ("a1/6", "4 to 2048 in steps of 4"),
        ("a1" + "/8" * (MOST_LAYERS + 1), f"at most {MOST_LAYERS} hidden layers"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        SPACE.parse(text)


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 9, 7), (13,), (4, 5)])
def test_the_formula_counts_what_is_built(shape: tuple[int, ...]) -> None:
    skeleton = SPACE.skeleton(input_shape=shape, classes=7)
    rng = random.Random(len(shape))
    for _ in range(6):
        architecture = SPACE.mutate(SPACE.sample(rng), rng)
        assert SPACE.cost(architecture, skeleton) == Space.cost(SPACE, architecture, skeleton)
        network = SPACE.build(architecture, skeleton)
        assert network(torch.randn(3, *shape)).shape == (3, 7)


def test_a1_is_logistic_regression() -> None:
    network = SPACE.build("a1", SPACE.skeleton(input_shape=(2, 3, 3), classes=4)).eval()
    (weight, bias) = network.parameters()
    x = torch.randn(5, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(network(x), x.reshape(5, -1) @ weight.T + bias)


def test_averaging_gives_the_mean_of_squares() -> None:
    network = SPACE.build("a2", SPACE.skeleton(input_shape=(1, 4, 4), classes=3))
    x = torch.randn(1, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    squares = x.reshape(2, 2, 2, 2).mean((1, 3))
    torch.testing.assert_close(network.average(x)[0, 0], squares)
    assert SPACE.cost(SPACE.parse("a2"), SPACE.skeleton(input_shape=(1, 4, 4), classes=3)).params == 15


def test_scaling_reaches_the_size_and_keeps_the_form() -> None:
    for params in (20_000, 300_000):
        found = SPACE.scaled(SPACE.read("textbook"), params, SPACE.skeleton(input_shape=(3, 16, 16)))
        assert found.average == 1
        assert len(found.widths) == 2
        assert SPACE.cost(found, SPACE.skeleton(input_shape=(3, 16, 16))).params == pytest.approx(params, rel=0.15)
    with pytest.raises(SettingError, match="params is 0"):
        SPACE.scaled(found, 0)
    assert SPACE.scaled(SPACE.parse("a1"), 50) == SPACE.parse("a1")


def test_mutations_reach_logistic_regression_and_come_back() -> None:
    rng = random.Random(0)
    seen = {SPACE.mutate(SPACE.parse("a1/64"), rng) for _ in range(200)}
    assert SPACE.parse("a1") in seen
    assert {len(child.widths) for child in seen} == {0, 1, 2}
    assert {child.average for child in seen} == set(AVERAGES)
    assert any(len(SPACE.mutate(SPACE.parse("a1"), rng).widths) == 1 for _ in range(20))


def test_what_is_no_input_is_refused() -> None:
    for settings in ({"input_shape": (3, 0)}, {"classes": 0}):
        with pytest.raises(SettingError, match="A perceptron cannot be built"):
            SPACES["plain-mlp"].skeleton(**settings)
