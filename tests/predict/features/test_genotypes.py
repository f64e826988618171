from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predict.features.slow import lengths_within

from firstlight.predict.features.genotypes import genotype_features
from firstlight.spaces import SPACES
from firstlight.spaces.darts.genotypes import CHOICES, Cell, Genotype

SKIP, SEP, POOL = "skip_connect", "sep_conv_3x3", "max_pool_3x3"


def test_hand_counted_genotype() -> None:
    # node 2: skip from 0, sep from 1; node 3: sep from 0, sep from 2; node 4: pool from 1, skip from 3; 5: sep
    normal = Cell(((SKIP, 0), (SEP, 1), (SEP, 0), (SEP, 2), (POOL, 1), (SKIP, 3), (SEP, 1), (SEP, 4)))
    reduce = Cell(((POOL, 0), (POOL, 1)) * 4)
    found = genotype_features([Genotype(normal, reduce)]).iloc[0]
    expected = {
        f"normal op_count({SKIP})": 2,
        f"normal op_count({SEP})": 5,
        "normal op_count(other)": 0,
        f"normal out_degree_1({SKIP})": 1,
        f"normal out_degree_1({SEP})": 1,
        f"normal out_degree_2({SEP})": 2,
        f"normal mean_degree({SEP})": 5 / 7,
        # 0 -skip-> 2 -out; with sep only: 0 -sep-> 3 -out
        f"normal max_path_1({SKIP})": 2,
        f"normal max_path_1({SEP})": 2,
        # 1 -sep-> 2 -sep-> 3 -out
        f"normal max_path_2({SEP})": 3,
        # 1 -sep-> 2 -sep-> 3 -skip-> 4 -sep-> 5 -out
        f"normal max_path_2({SKIP}+{SEP})": 5,
        f"normal max_path_2({POOL})": 2,
        "normal mean_node_depth": (1 + 2 + 3 + 4) / 4,
        "reduce paths_1": 4,
        "reduce paths_2": 4,
        f"reduce max_path_1({SEP})": 0,
        "reduce mean_node_depth": 1,
    }
    assert {name: found[name] for name in expected} == expected


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sets(st.sampled_from(CHOICES), min_size=1))
def test_equals_slow_twin(seed: int, drawn: set[str]) -> None:
    genotype = SPACES["darts"].sample(random.Random(seed))
    found = genotype_features([genotype]).iloc[0]
    chosen = [name for name in CHOICES if name in drawn]
    for kind in ("normal", "reduce"):
        cell = getattr(genotype, kind)
        edges = [(source, 2 + place // 2, name) for place, (name, source) in enumerate(cell.edges)]
        edges += [(node, 6, None) for node in cell.concat]
        for state in (0, 1):
            lengths = lengths_within(edges, state, 6, chosen)
            assert found[f"{kind} max_path_{state + 1}({'+'.join(chosen)})"] == max(lengths, default=0)


@pytest.mark.parametrize("place", [0, 1])
def test_operations_of_other_spaces(place: int) -> None:
    """`none` is not an edge, and an operation that the space does not choose from is in no set."""
    edges = [(SKIP, 0), (SKIP, 1)] * 4
    edges[place] = ("none", place)
    edges[2 + place] = ("sep_conv_7x7", place)
    found = genotype_features([Genotype(Cell(tuple(edges)), Cell(((SKIP, 0), (SKIP, 1)) * 4))]).iloc[0]
    assert found["normal op_count(other)"] == 1
    assert found[f"normal paths_{place + 1}"] == 3
    assert found[f"normal out_degree_{place + 1}({SKIP})"] == 2
