"""The most preferred of the known cells, against all architectures of a space."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firstlight.papers.known_cells import KnownCells
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.space import NASBench1Shot1
from firstlight.spaces.nasbench1shot1.supernet import OneShot1Shot1
from firstlight.spaces.nasbench101.cell import Cell101


def a_space(name: str) -> tuple[NASBench1Shot1, OneShot1Shot1]:
    space = SPACES[name]
    assert isinstance(space, NASBench1Shot1)
    return space, OneShot1Shot1(space.name, space.parents)


def preferences_of(one_shot: OneShot1Shot1, seed: int) -> dict[str, dict[str, float]]:
    rng = random.Random(seed)
    return {choice.name: {option: rng.gauss(0, 1) for option in choice.options} for choice in one_shot.choices}


def flat(preferences: dict[str, dict[str, float]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([value for options in preferences.values() for value in options.values()])


def total(one_shot: OneShot1Shot1, architecture: Cell101, preferences: dict[str, dict[str, float]]) -> float:
    path = one_shot.path(architecture)
    return sum(preferences[name][option] for name, options in path.items() for option in options)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_best_of_all_architectures_that_are_known_cells(seed: int) -> None:
    space, one_shot = a_space("nasbench1shot1-s1")
    rng = random.Random(seed)
    known = sorted({str(space.canonical(space.sample(rng))) for _ in range(6)})
    preferences = preferences_of(one_shot, seed)
    found = KnownCells(space.name, known).best(flat(preferences))
    totals: dict[str, float] = {}
    for architecture in space:
        value = total(one_shot, architecture, preferences)
        if value > max(totals.values(), default=-np.inf):  # only these can change the answer
            text = str(space.canonical(architecture))
            if text in known:
                totals[text] = value
    assert found == max(totals, key=lambda text: totals[text])


@pytest.mark.parametrize("name", ["nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"])
def test_what_a_search_chooses_is_the_best_where_it_is_known(name: str) -> None:
    space, one_shot = a_space(name)
    others = [str(space.canonical(space.sample(random.Random(seed)))) for seed in range(20)]
    for seed in range(3):
        preferences = preferences_of(one_shot, seed)
        chosen = one_shot.architecture({choice: list(options.values()) for choice, options in preferences.items()})
        text = str(space.canonical(chosen))
        known = KnownCells(name, dict.fromkeys([*others, text]))
        assert known.best(flat(preferences)) == text
