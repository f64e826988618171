"""States of a supernet: what can be taken away, and the text that says what is left."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces.darts.supernet import DartsSupernet, DartsSupernetWithNone
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.supernets import Place, Supernet
from firstlight.testing.spaces import damaged, read_exactly_or_refused, stays_in_the_space

SUPERNETS: dict[str, Supernet] = {
    supernet.name: supernet for supernet in (Supernet201(), DartsSupernet(), DartsSupernetWithNone())
}
every_supernet = pytest.mark.parametrize("supernet", SUPERNETS.values(), ids=SUPERNETS)
SEEDS = st.integers(min_value=0, max_value=2**32)
EDGE = Place("normal", 3, 1)


@every_supernet
@given(seed=SEEDS)
def test_text_reads_back(supernet: Supernet, seed: int) -> None:
    state = supernet.sample(random.Random(seed))
    assert supernet.parse(str(state)) == state
    assert hash(supernet.parse(str(state))) == hash(state)


@every_supernet
@given(seed=SEEDS)
def test_damaged_text_is_refused_or_read_as_what_it_says(supernet: Supernet, seed: int) -> None:
    read_exactly_or_refused(supernet, damaged(supernet, seed))


@every_supernet
def test_mutations_stay_in_the_space(supernet: Supernet) -> None:
    stays_in_the_space(supernet, 100, seed=0)


def test_everything_there_is_written_as_a_star() -> None:
    assert str(Supernet201().layout.full) == "|*~0|+|*~0|*~1|+|*~0|*~1|*~2|"
    cell = "|*~0|*~1|+|*~0|*~1|*~2|+|*~0|*~1|*~2|*~3|+|*~0|*~1|*~2|*~3|*~4|"
    assert str(DartsSupernet().layout.full) == f"normal={cell} reduce={cell}"


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "'|'"),
        ("|*~0|+|*~0|*~1|+|*~0|*~1|*~2", 28, "'|'"),
        ("|*~0|+|*~0|*~1|+|*~0|*~2|*~2|", 23, "a state of 1"),
        ("|*~0|+|*~0|+|*~0|*~1|*~2|", 11, "* or some of none, skip_connect"),
        ("|skip_connect/none~0|", 14, "one of nor_conv_1x1"),
        ("|avg_pool_3x3/none~0|", 14, "'~'"),
        ("|none/skip_connect/nor_conv_1x1/nor_conv_3x3/avg_pool_3x3~0|", 1, "'*', which stands for all"),
        ("|*/none~0|", 2, "'~'"),
        ("|*~0|+|*~0|*~1|+|*~0|*~1|*~2| ~", 29, "the end"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        Supernet201().parse(text)
    assert (caught.value.position, expected in str(caught.value)) == (position, True), caught.value


def test_a_node_keeps_two_edges_at_least() -> None:
    full = str(DartsSupernet().layout.full)
    DartsSupernet().parse(full.replace("|*~0|*~1|*~2|*~3|*~4|", "|*~1|*~4|"))
    with pytest.raises(ParseError, match=r"a state of 0, 1, 2, 3 at"):
        DartsSupernet().parse(full.replace("|*~0|*~1|*~2|*~3|*~4|", "|*~4|"))


def test_operations_and_edges_are_taken_away() -> None:
    full = DartsSupernet().layout.full
    assert len(full.undecided) == 28
    assert full.crowded == [(kind, node) for kind in ("normal", "reduce") for node in (3, 4, 5)]
    fewer = full.without(EDGE, "skip_connect", "dil_conv_5x5")
    assert fewer.operations(EDGE) == (
        *("max_pool_3x3", "avg_pool_3x3", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3"),
    )
    assert [place for place in full.layout.places if fewer.operations(place) != full.operations(place)] == [EDGE]
    decided = fewer.keeping(EDGE, "sep_conv_3x3")
    assert len(decided.undecided) == 27
    gone = decided.without(EDGE)
    assert [edge.source for edge in gone.edges(("normal", 3))] == [0, 2]
    assert ("normal", 3) not in gone.crowded


def test_weights_of_several_do_not_grow_when_others_go() -> None:
    full = DartsSupernet().layout.full
    assert set(full.weights(EDGE).values()) == {1 / 7}
    assert full.without(EDGE, "skip_connect").weights(EDGE) == dict.fromkeys(
        [name for name in full.layout.operations if name != "skip_connect"], 1 / 7
    )
    assert full.keeping(EDGE, "skip_connect").weights(EDGE) == {"skip_connect": 1.0}
    assert full.without(EDGE).weights(EDGE) == {}


def decided(supernet: Supernet, seed: int) -> Any:
    """A state in which all is decided at random."""
    rng = random.Random(seed)
    state = supernet.layout.full
    for place in supernet.layout.places:
        state = state.keeping(place, rng.choice(supernet.layout.operations))
    while state.crowded:
        state = state.without(rng.choice(state.edges(state.crowded[0])))
    return state


@pytest.mark.parametrize("seed", range(5))
def test_what_is_decided_is_an_architecture(seed: int) -> None:
    cell = decided(Supernet201(), seed)
    assert str(Supernet201().architecture(cell)) == str(cell)
    state = decided(DartsSupernet(), seed)
    genotype = DartsSupernet().architecture(state)
    for kind, found in (("normal", genotype.normal), ("reduce", genotype.reduce)):
        for number, (operation, source) in enumerate(found.edges):
            assert state.operations(Place(kind, 2 + number // 2, source)) == (operation,)


@every_supernet
def test_what_is_undecided_is_no_architecture(supernet: Supernet) -> None:
    full = supernet.layout.full
    with pytest.raises(SettingError, match=f"{len(full.undecided)} edges have several"):
        supernet.architecture(full)
