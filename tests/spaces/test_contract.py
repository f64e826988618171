"""What every space in the registry must keep."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.errors import ParseError, SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Space

every_space = pytest.mark.parametrize("name", SPACES)
SEEDS = st.integers(min_value=0, max_value=2**32)


@every_space
@given(seed=SEEDS)
def test_text_reads_back(name: str, seed: int) -> None:
    space = SPACES[name]
    architecture = space.sample(random.Random(seed))
    assert space.parse(str(architecture)) == architecture
    assert hash(space.parse(str(architecture))) == hash(architecture)


@every_space
@given(seed=SEEDS)
def test_mutation_changes_the_architecture_and_stays_in_the_space(name: str, seed: int) -> None:
    space = SPACES[name]
    rng = random.Random(seed)
    parent = space.sample(rng)
    child = space.mutate(parent, rng)
    assert child != parent
    assert space.parse(str(child)) == child


@every_space
@given(seed=SEEDS)
def test_the_canonical_form_is_its_own(name: str, seed: int) -> None:
    space = SPACES[name]
    canonical = space.canonical(space.sample(random.Random(seed)))
    assert space.canonical(canonical) == canonical


@every_space
@given(seed=SEEDS, place=st.integers(0, 200), intruder=st.characters())
def test_damaged_text_is_refused_or_read_as_what_it_says(name: str, seed: int, place: int, intruder: str) -> None:
    space = SPACES[name]
    text = str(space.sample(random.Random(seed)))
    damaged = text[: place % len(text)] + intruder + text[place % len(text) + 1 :]
    try:
        read = str(space.parse(damaged))
    except ParseError as error:
        place_named = error.position
    else:
        assert "".join(read.split()) == "".join(damaged.split())  # some spaces are lenient about blanks
        return
    assert 0 <= place_named <= len(damaged)


@every_space
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS)
def test_the_cost_is_that_of_the_network(name: str, seed: int) -> None:
    space = SPACES[name]
    architecture = space.sample(random.Random(seed))
    counted = Space.cost(space, architecture)
    assert space.cost(architecture) == counted
    assert sum(p.numel() for p in space.build(architecture).parameters()) == counted.params


@every_space
def test_building_is_a_pure_function_of_text_and_seed(name: str) -> None:
    space = SPACES[name]
    architecture = space.sample(random.Random(0))
    state = torch.get_rng_state()
    first, again, other = (space.build(architecture, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)
    assert all(tensor.isfinite().all() for tensor in first.values())


@every_space
def test_a_built_network_classifies_the_inputs_of_its_skeleton(name: str) -> None:
    space = SPACES[name]
    skeleton = space.skeleton(classes=7)
    network = space.build(space.sample(random.Random(1)), skeleton)
    assert network(torch.randn(2, *skeleton.input_shape)).shape == (2, 7)


@every_space
def test_unknown_skeleton_settings_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="no setting 'colour'"):
        SPACES[name].skeleton(colour=3)
    for setting in ({"classes": "4"}, {"classes": (4, 4)}, {"input_shape": 3}, {"classes": True}):
        with pytest.raises(SettingError, match="expected something like"):
            SPACES[name].skeleton(**setting)
    assert SPACES[name].skeleton(input_shape=[3, 32, 32]) == SPACES[name].skeleton(input_shape=(3, 32, 32))
