"""What every space in the registry must keep."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from firstlight.core.errors import ParseError, SettingError, UnsupportedError
from firstlight.spaces import SPACES
from firstlight.spaces.nasrec.blocks import Recommender
from firstlight.spaces.plain.shape import Plain
from firstlight.testing import space_checks
from firstlight.testing.spaces import (
    builds_networks_that_run,
    builds_pure_networks,
    counts_costs,
    damaged,
    parsed_or_place,
    read_exactly_or_refused,
    runs_everywhere,
    stays_in_the_space,
)

every_space = pytest.mark.parametrize("name", SPACES)
SEEDS = st.integers(min_value=0, max_value=2**32)


# Networks whose usual size takes long to build; those of the larger transformers are built alike
SMALLER: dict[str, dict[str, Any]] = {
    "autoformer-tiny": {"input_shape": (3, 32, 32)},
    "mobilenetv2": {"input_shape": (3, 64, 64)},
    "darts": {"channels": 4, "cells": 3},
    "nasbench201": {"cells": 1},
    "nasbench101": {"channels": 16, "cells": 1},
    **{f"nasbench1shot1-s{number}": {"channels": 16, "cells": 1} for number in (1, 2, 3)},
    **{f"transnas-{kind}": {"input_shape": (3, 64, 64)} for kind in ("micro", "macro")},
}
LARGER = {"autoformer-small", "autoformer-base"}
BUILDING = {builds_pure_networks, builds_networks_that_run, counts_costs}


@every_space
def test_all_contracts_are_kept(name: str) -> None:
    """As authors of spaces check them."""
    exact = name != "darts"
    for contract in space_checks(name, skeleton=SMALLER.get(name), samples=10, networks=1, exact_text=exact):
        if name not in LARGER or contract.test not in BUILDING:
            contract()


def check_damaged_text(name: str, seed: int) -> None:
    # what the lenient one reads is compared with Python in tests/spaces/test_darts.py
    read_exactly_or_refused(SPACES[name], damaged(SPACES[name], seed), to_the_letter=name != "darts")


@pytest.mark.slow
@every_space
@settings(max_examples=10_000, deadline=None)
@given(seed=SEEDS)
def test_much_damaged_text_is_refused_or_read_as_what_it_says(name: str, seed: int) -> None:
    check_damaged_text(name, seed)


@every_space
def test_most_damaged_text_is_refused(name: str) -> None:
    texts = [damaged(SPACES[name], seed) for seed in range(200)]
    refused = sum(parsed_or_place(SPACES[name], text)[0] is None for text in texts)
    assert refused > 100


@every_space
@pytest.mark.slow
def test_long_chains_of_mutations_stay_in_the_space(name: str) -> None:
    stays_in_the_space(SPACES[name], 10_000, seed=0)


@every_space
def test_text_that_is_refused_is_told_what_would_be_taken(name: str) -> None:
    space = SPACES[name]
    for refused in (space.read, space.build):
        with pytest.raises(ParseError) as caught:
            refused("garbage")
        *_, text, place, example = str(caught.value).splitlines()
        assert (text, place.strip()) == ("  garbage", "^")
        prefix = f"An architecture of {name} looks like "
        assert example.startswith(prefix)
        assert space.parse(example.removeprefix(prefix)) == space.example()


with_choices = pytest.mark.parametrize("name", [name for name, space in SPACES.items() if space.has_choices])


@with_choices
def test_choices_are_all_there_is(name: str) -> None:
    assert math.prod(map(len, SPACES[name].choices())) == len(SPACES[name])


@every_space
def test_spaces_without_choices_name_those_that_have_them(name: str) -> None:
    if not SPACES[name].has_choices:
        with pytest.raises(UnsupportedError, match=r"nasbench201, .*ChoiceSpace"):
            SPACES[name].choices()


def choices_of_blocks(architecture: Recommender) -> dict[Any, Any]:
    """Of the first blocks and the last. Which inputs are read is uniform among those of the same number."""
    found: dict[Any, Any] = {}
    for number in (0, 1, 6):
        block = architecture.blocks[number]
        found[number, "operators"] = block.dense_operator, block.sparse_operator
        found |= {(number, name): getattr(block, name) for name in ("width", "rows", "interaction", "fm")}
        if number:
            found |= {(number, name): getattr(block, name) for name in ("left", "right")}
        for name in ("dense_inputs", "sparse_inputs"):
            inputs = getattr(block, name)
            if number:
                found[number, name] = len(inputs)
            if len(inputs) <= number:
                found[number, name, len(inputs)] = inputs
    return found


def choices_of_stages(architecture: Plain) -> dict[Any, Any]:
    """Of the stem and the first stage; widths are scaled to a size."""
    first = architecture.stages[0]
    found = {"stages": len(architecture.stages), "depth": first.depth, "size": first.size, "stride": first.stride}
    stem = {"stem size": architecture.stem.size, "stem stride": architecture.stem.stride}
    return found | stem | {"expansion": first.expansion, "gated": first.gated}


# What a sampler chooses uniformly: values that must come equally often, under a name for each choice
CHOICES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "nasbench201": lambda cell: dict(enumerate(cell.operations)),
    "nasbench101": lambda cell: dict(enumerate(cell.operations)),
    **dict.fromkeys(
        ("nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"),
        lambda cell: dict(enumerate((*cell.operations, *cell.sources))),
    ),
    "darts": lambda genotype: {
        (kind, node): (first[0], second[0], first[1], second[1])
        for kind, cell in (("normal", genotype.normal), ("reduce", genotype.reduce))
        for node, (first, second) in enumerate(zip(cell.edges[:4:2], cell.edges[1:4:2], strict=True))
    },
    "nats-sss": lambda sizes: dict(enumerate(sizes.channels)),
    "transnas-micro": lambda cell: dict(enumerate(cell.operations)),
    "transnas-macro": lambda architecture: {"all": str(architecture)},
    **dict.fromkeys(
        ("autoformer-tiny", "autoformer-small", "autoformer-base"),
        lambda net: {"width": net.width, "depth": net.depth, "heads": net.heads[:2], "ratios": net.ratios[:2]},
    ),
    **dict.fromkeys(("nasrec-small", "nasrec-full"), choices_of_blocks),
    **dict.fromkeys(
        ("plain-resnet", "plain-bottleneck", "plain-mobile", "plain-convnext", "plain-vit"), choices_of_stages
    ),
    "plain-mlp": lambda perceptron: {"average": perceptron.average, "layers": len(perceptron.widths)},
}
WALKS = {"mobilenetv2", "plainnet-resnet"}  # sampled by mutation, as their docstrings say


@every_space
def test_choices_are_uniform(name: str) -> None:
    """Chi-squared: a sampler that is uniform passes all but once in a million runs, and the seed is fixed."""
    if name in WALKS:
        assert "mutations" in (SPACES[name].sample.__doc__ or "")
        return
    rng = random.Random(1)
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for _ in range(4_000 if name.startswith("plain-") else 20_000):
        for choice, value in CHOICES[name](SPACES[name].sample(rng)).items():
            counts[choice][value] += 1
    assert sum(len(found) > 1 for found in counts.values()) >= len(counts) - 2
    for found in counts.values():
        if len(found) > 1:
            assert chisquare(list(found.values())).pvalue > 1e-6, found


@pytest.mark.slow
@every_space
@pytest.mark.parametrize("size", ["customary", "another"])
def test_fifty_networks_run(name: str, size: str) -> None:
    space = SPACES[name]
    shape = space.skeleton().input_shape
    if size == "another":  # images keep their channels
        changed = [side // 2 if side > 64 else side * 3 // 2 for side in shape]
        shape = (*shape[:1], *changed[1:]) if len(shape) > 1 else tuple(changed)
    skeleton = space.skeleton(input_shape=shape)
    rng = random.Random(0)
    for _ in range(50):
        runs_everywhere(space, space.sample(rng), skeleton, every_parameter=False)


@every_space
def test_a_built_network_classifies_the_inputs_of_its_skeleton(name: str) -> None:
    space = SPACES[name]
    skeleton = space.skeleton(classes=7)
    network = space.build(space.sample(random.Random(1)), skeleton)
    assert network(torch.randn(2, *skeleton.input_shape)).shape == (2, 7)


@every_space
def test_unknown_skeleton_settings_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="no setting 'color'"):
        SPACES[name].skeleton(color=3)
    for setting in ({"classes": "4"}, {"classes": (4, 4)}, {"input_shape": "3"}, {"classes": True}):
        with pytest.raises(SettingError, match="expected something like"):
            SPACES[name].skeleton(**setting)
    usual = SPACES[name].skeleton()
    assert SPACES[name].skeleton(input_shape=[*usual.input_shape]) == usual
    if len(usual.input_shape) == 1:
        assert SPACES[name].skeleton(input_shape=usual.input_shape[0]) == usual  # which is how `39` is read
    else:
        with pytest.raises(SettingError, match="expected something like"):
            SPACES[name].skeleton(input_shape=3)
