"""One-shot networks of all spaces that have one: their choices, the points that follow them, and what both lead to."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.spaces.supernets import Choice, ChoicePoint, OneShot, Preferences, set_weights

SPACES = ("darts", "nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3", "nasbench201")
every_space = pytest.mark.parametrize("name", SPACES)


def one_shot(name: str) -> OneShot:
    return firstlight.space(name).one_shot()


def small_skeleton(name: str) -> Any:
    own = one_shot(name).skeleton(firstlight.space(name).skeleton(input_shape=(3, 8, 8), classes=5))
    return dataclasses.replace(own, channels=2, cells=1 if name == "nasbench201" else 3)


def build(name: str, **settings: Any) -> nn.Module:
    return one_shot(name).build(small_skeleton(name), **settings)


def images() -> Tensor:
    return torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def random_preferences(own: OneShot, seed: int) -> Preferences:
    rng = random.Random(seed)
    return {choice.name: [rng.gauss(0, 1) for _ in choice.options] for choice in own.choices}


# ---------------------------------------- choices


def test_as_many_are_sampled_as_are_taken_unless_said_otherwise() -> None:
    assert Choice("any", ("a", "b", "c"), taken=2).sampled == 2
    assert Choice("any", ("a", "b", "c"), taken=2, sampled=1).sampled == 1
    assert Choice("any", ("a", "b", "c")).sampled == 1


def test_the_best_come_first_and_even_weights_add_up_to_one() -> None:
    choice = Choice("any", ("a", "b", "c", "d"), taken=2)
    assert choice.best({"any": [0.1, 0.9, -3.0, 2.0]}) == ["d", "b"]
    assert choice.even_weights == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}


@every_space
def test_every_choice_has_its_point_in_the_network(name: str) -> None:
    own = one_shot(name)
    points = [point for point in build(name).modules() if isinstance(point, ChoicePoint)]
    options = {choice.name: list(choice.options) for choice in own.choices}
    assert len(options) == len(own.choices)
    assert {point.place for point in points} == options.keys()
    for point in points:
        assert list(point.weights) == options[str(point.place)]
        assert sum(point.weights.values()) == pytest.approx(1)
    assert all(1 <= choice.sampled <= choice.taken <= len(choice.options) for choice in own.choices)


@every_space
@given(seed=st.integers(0, 2**32))
def test_what_is_preferred_is_an_architecture_of_the_space(name: str, seed: int) -> None:
    own, space = one_shot(name), firstlight.space(name)
    architecture = own.architecture(random_preferences(own, seed))
    assert space.parse(str(architecture)) == architecture


# ---------------------------------------- networks


@every_space
def test_weights_are_drawn_from_the_seed(name: str) -> None:
    first, again, other = (build(name, seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], again[key]) for key in first)
    convolutions = [key for key, tensor in first.items() if tensor.ndim == 4]
    assert not any(torch.equal(first[key], other[key]) for key in convolutions)
    assert len({first[key].flatten()[0].item() for key in convolutions}) == len(convolutions)  # none is shared


@every_space
def test_it_runs_in_double_precision_and_without_numbers(name: str) -> None:
    out = build(name).double()(images().double())
    assert out.dtype == torch.float64
    torch.testing.assert_close(out, build(name)(images()).double(), rtol=1e-3, atol=1e-4)
    weightless = one_shot(name).network(small_skeleton(name)).to("meta")
    assert weightless(torch.empty(4, 3, 8, 8, device="meta")).shape == (4, 5)


@every_space
def test_the_output_moves_with_the_weight_of_every_option(name: str) -> None:
    """By gradients, in double precision; `none` adds nothing whatever its weight is."""
    network = build(name).double()
    weights = {
        choice.name: {
            option: torch.tensor(weight, dtype=torch.float64, requires_grad=True)
            for option, weight in choice.even_weights.items()
            if option != "none"
        }
        for choice in one_shot(name).choices
    }
    for place, own in weights.items():
        set_weights(network, place, own | {"none": 0.0})
    network(images().double()).square().sum().backward()
    for place, own in weights.items():
        for option, weight in own.items():
            assert weight.grad is not None, (place, option)
            assert abs(weight.grad) > 1e-8, (place, option)


@every_space
def test_a_hard_sample_that_can_be_differentiated_computes_what_its_path_does(name: str) -> None:
    """Weights of 0 and 1, once as numbers, which leave out the rest, and once as tensors, which do not."""
    rng = random.Random(0)
    plain, differentiable = build(name).double(), build(name).double()
    asked: list[Tensor] = []
    for choice in one_shot(name).choices:
        sample = rng.sample(choice.options, choice.sampled)
        hard = [float(option in sample) for option in choice.options]
        set_weights(plain, choice.name, hard)
        tensors = [torch.tensor(weight, dtype=torch.float64, requires_grad=True) for weight in hard]
        asked += [tensor for tensor, option in zip(tensors, choice.options, strict=True) if option != "none"]
        set_weights(differentiable, choice.name, tensors)
    x = images().double()
    out = differentiable(x)
    torch.testing.assert_close(out, plain(x))
    out.square().sum().backward()
    assert all(tensor.grad is not None and tensor.grad.isfinite() for tensor in asked)
    plain(x).square().sum().backward()
    everything = dict(differentiable.named_parameters())
    for key, parameter in plain.named_parameters():  # those beside the path have no gradient, or one of 0
        gradient = everything[key].grad
        assert gradient is not None
        torch.testing.assert_close(gradient, torch.zeros_like(gradient) if parameter.grad is None else parameter.grad)
    assert any(parameter.grad is None for parameter in plain.parameters())


# ---------------------------------------- which spaces have one


def test_spaces_without_one_say_so() -> None:
    with pytest.raises(SettingError, match=f"'nasbench101' has no one-shot network.*one of {', '.join(SPACES)}, or"):
        firstlight.space("nasbench101").one_shot()


def test_preferences_decide_each_edge_of_nasbench201() -> None:
    own = one_shot("nasbench201")
    options = ("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "none")
    preferences = {
        choice.name: [float(name == best) for name in choice.options]
        for choice, best in zip(own.choices, options, strict=True)
    }
    assert str(own.architecture(preferences)) == (
        "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|"
    )
