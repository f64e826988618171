"""NAS-Bench-101 cells: text and matrix, the used part, isomorphism and hash."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import golden

from firstlight.core.errors import DataError, ParseError
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench101.cell import OPERATIONS, Cell101, rearranged, used_vertices

SPACES_OF_CELLS = ["nasbench101", "nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"]
SEEDS = st.integers(min_value=0, max_value=2**32)
# the longest text that there is: seven vertices, each led to by all before it
LONGEST = len("|".join(f"maxpool3x3~{','.join('012345'[:vertex])}" for vertex in range(1, 6)) + "|output~0,1,2,3,4,5")


def sampled(seed: int, space: str = "nasbench101") -> Cell101:
    cell = SPACES[space].sample(random.Random(seed))
    assert isinstance(cell, Cell101)
    return cell


# --- matrices


def test_the_example_of_the_benchmark() -> None:
    rows = ("0111010", "0000001", "0000001", "0000100", "0000001", "0000001", "0000000")
    text = "conv1x1~0|conv3x3~0|conv3x3~0|conv3x3~3|maxpool3x3~0|output~1,2,4,5"
    operations = ["conv1x1", "conv3x3", "conv3x3", "conv3x3", "maxpool3x3"]
    assert str(Cell101.from_matrix("".join(rows), operations)) == text
    assert str(Cell101.from_digits("".join(rows), "10002")) == text


def test_cells_at_the_edge() -> None:
    assert str(Cell101.from_matrix("0100", [])) == "output~0"  # no inner vertex
    assert str(Cell101.from_matrix("001000000", ["conv3x3"])) == "conv3x3~|output~0"  # one that is not used


@pytest.mark.parametrize(
    ("adjacency", "digits", "message"),
    [
        ("010", "", "expected 2 x 2 characters"),
        ("0120", "", "expected 2 x 2 characters"),
        ("0110", "", "does not lead to a later vertex"),
        ("1100", "", "does not lead to a later vertex"),
        ("001000000", "3", "only digits 0, 1 and 2"),
    ],
)
def test_what_is_no_cell_is_refused(adjacency: str, digits: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Cell101.from_digits(adjacency, digits)


def test_unknown_operations_are_refused() -> None:
    with pytest.raises(DataError, match=r"no operation 'conv5x5'. It has: conv3x3, conv1x1, maxpool3x3"):
        Cell101.from_matrix("001000000", ["conv5x5"])


@given(data=st.data(), operations=st.lists(st.sampled_from(OPERATIONS), max_size=5))
def test_the_text_is_exact(data: st.DataObject, operations: list[str]) -> None:
    vertices = len(operations) + 2
    edges = {
        (source, vertex)
        for vertex in range(vertices)
        for source in range(vertex)
        if data.draw(st.booleans(), label=f"{source} to {vertex}")
    }
    adjacency = "".join("01"[(i, j) in edges] for i in range(vertices) for j in range(vertices))
    read = [entry.split("~") for entry in str(Cell101.from_matrix(adjacency, operations)).split("|")]
    assert [name for name, _ in read] == [*operations, "output"]
    assert edges == {
        (int(source), vertex)
        for vertex, (_, sources) in enumerate(read, start=1)
        for source in filter(None, sources.split(","))
    }


# --- pruning, isomorphism, hash


def test_pruning_and_hash_of_the_reference_cells() -> None:
    records = [*golden("nasbench101")["records"], *golden("nasbench1shot1")["records"]]
    assert len(records) == 44
    for record in records:
        operations = record.get("node_ops", record["ops"])
        pruned = of_record(record["pruned_matrix"], record["pruned_ops"])
        for cell in (of_record(record["matrix"], operations), pruned):
            assert cell.pruned() == pruned
            assert cell.module_hash() == cell.canonical().module_hash() == record["hash"]


def of_record(matrix: list[list[int]], operations: list[str]) -> Cell101:
    digits = "".join(str(edge) for row in matrix for edge in row)
    return Cell101.from_matrix(digits, [name.removesuffix("-bn-relu") for name in operations[1:-1]])


def test_a_cell_without_a_path_cannot_be_pruned() -> None:
    with pytest.raises(DataError, match=r"conv3x3~0\|output~ has no path from input to output"):
        Cell101(("conv3x3",), ((0,), ())).pruned()
    assert used_vertices(((), (1,))) == ()
    assert used_vertices(((0,), (), (1, 2), (3,))) == (0, 1, 3, 4)


@given(seed=SEEDS)
def test_order_and_loose_ends_do_not_matter(seed: int) -> None:
    cell = sampled(seed)
    rng = random.Random(seed)
    order, left = [0], set(range(1, len(cell.sources)))
    while left:  # any order in which edges lead to later vertices
        ready = sorted(vertex for vertex in left if not left.intersection(cell.sources[vertex - 1]))
        order.append(rng.choice(ready))
        left.remove(order[-1])
    order.append(len(cell.sources))
    operations = tuple(cell.operations[vertex - 1] for vertex in order[1:-1])
    twin = Cell101(operations, rearranged(cell.sources, order))
    assert twin.edges == cell.edges
    assert twin.canonical() == cell.canonical() == cell.pruned().canonical()
    assert twin.module_hash() == cell.module_hash() == cell.canonical().module_hash()
    assert len(cell.canonical().sources) == len(used_vertices(cell.sources)) - 1


@given(first=SEEDS, second=SEEDS)
def test_cells_with_one_hash_have_one_canonical_form(first: int, second: int) -> None:
    one, other = (sampled(seed, "nasbench1shot1-s2") for seed in (first, second))
    assert (one.canonical() == other.canonical()) == (one.module_hash() == other.module_hash())


def test_the_smaller_matrix_is_the_canonical_one() -> None:
    late = Cell101(("conv1x1", "conv3x3"), ((0,), (0,), (1, 2)))  # symmetric: the operations decide
    assert str(late.canonical()) == "conv3x3~0|conv1x1~0|output~1,2"
    crossed = Cell101(("maxpool3x3", "conv3x3", "conv1x1"), ((0,), (0,), (1,), (2, 3)))
    assert str(crossed.canonical()) == "conv3x3~0|maxpool3x3~0|conv1x1~2|output~1,3"


def test_channels_of_the_reference_cells() -> None:
    compared = 0
    for record in golden("nasbench101")["records"]:
        cell = of_record(record["pruned_matrix"], record["pruned_ops"])
        for key, expected in record["vertex_channels"].items():
            inputs, outputs = map(int, key.split("->"))
            assert list(cell.widths(inputs, outputs)) == expected
            compared += 1
    assert compared == 24 * 5


# --- texts


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "one of conv3x3, conv1x1, maxpool3x3, output"),
        ("conv5x5~0|output~1", 0, "one of conv3x3"),
        ("conv3x3|output~1", 7, "'~'"),
        ("conv3x3~1|output~1", 8, "'0'"),
        ("conv3x3~0,1|output~1", 9, "'|'"),
        ("conv3x3~0|conv3x3~1,0|output~2", 19, "'|'"),
        ("conv3x3~0|conv3x3~0,0|output~2", 20, "'1'"),
        ("conv3x3~0|output~2", 17, "one of 0, 1"),
        ("conv3x3~0|output~-1", 17, "one of 0, 1"),
        ("conv3x3~0|output~1,", 18, "the end of the text"),
        ("conv3x3~0|output~0,", 19, "'1'"),
        ("conv3x3~0|output~00", 18, "the end of the text"),
        ("conv3x3~\u0660|output~1", 8, "'0'"),
        ("conv3x3~0|output~1|output~1", 18, "the end of the text"),
        ("conv3x3~0|conv3x3~1", 19, "'|'"),
        ("conv3x3~0|conv3x3~1|", 20, "one of conv3x3"),
        ("conv3x3~0|" * 6 + "output~6", 50, "'output'"),
        ("conv3x3~0|output~", 17, "a path from the input"),
        ("conv3x3~|output~1", 16, "a path from the input"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,1,2|conv3x3~0,1,2,3|output~4", 50, "no more than 9 edges"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,1,2|conv1x1~|conv3x3~0,1,2,3|output~0,5", 59, "no more than 9 edges"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        SPACES["nasbench101"].parse(text)
    assert caught.value.position == position
    assert f"expected {expected}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,2|output~0,3", 34, "one of conv3x3, conv1x1, maxpool3x3 at"),
        ("conv3x3~0|conv3x3~1|conv3x3~0,1|conv3x3~0,1|output~0,1", 18, "'0'"),
        ("conv3x3~0|conv3x3~0|conv3x3~0,1|conv3x3~0,1|output~0,1", 19, "','"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~2,1|conv3x3~0,1|output~0,1", 30, "one of 0, 1"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,1,2|conv3x3~0,1|output~0,1", 33, "'|'"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,1|conv3x3~0,1|conv3x3~0,1|output~0,1", 46, "'output'"),
        ("conv3x3~0|conv3x3~0,1|conv3x3~0,1|conv3x3~0,1|output~0,1,2", 56, "the end of the text"),
        ("conv3x3~|conv3x3~0,1|conv3x3~0,1|conv3x3~0,1|output~0,1", 8, "'0'"),
    ],
)
def test_errors_in_texts_with_a_fixed_number_of_parents(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        SPACES["nasbench1shot1-s1"].parse(text)
    assert caught.value.position == position
    assert f"expected {expected}" in str(caught.value)


@pytest.mark.parametrize("name", SPACES_OF_CELLS)
def test_texts_without_end_are_refused_where_they_go_on(name: str) -> None:
    for text in ("conv3x3~0|" * 10**5, "conv3x3~" + "0" * 10**6, "conv3x3~0" + ",0" * 10**5, "0" * 10**6):
        with pytest.raises(ParseError) as caught:
            SPACES[name].parse(text)
        assert caught.value.position <= LONGEST


def test_edges_of_loose_ends_are_not_among_the_nine() -> None:
    text = "conv3x3~0|conv1x1~0,1|conv1x1~0,1,2|conv1x1~0,1,2,3|conv1x1~0,1,2,3,4|output~1"
    cell = SPACES["nasbench101"].parse(text)
    assert str(cell) == text
    assert cell.edges == 16
    assert str(cell.pruned()) == "conv3x3~0|output~1"


PIECES = [*OPERATIONS, "output", *"~|,012356 \n", "10", "-1", "\u0663", "\u00b2", "conv"]


@st.composite
def damaged_texts(draw: st.DrawFn) -> str:
    """The text of a cell with a few pieces cut out, put in or repeated."""
    text = str(sampled(draw(SEEDS), draw(st.sampled_from(SPACES_OF_CELLS))))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        piece = draw(st.sampled_from(PIECES) | st.just(text[start:end] * 2) | st.just(""))
        text = text[:start] + piece + text[end:]
    return text


def check_reading(name: str, text: str) -> None:
    space, text = SPACES[name], text.strip()
    if legal(text, getattr(space, "parents", ())):
        assert str(space.parse(text)) == text
        assert len(text) <= LONGEST
        return
    with pytest.raises(ParseError) as caught:
        space.parse(text)
    assert 0 <= caught.value.position <= len(text)


def legal(text: str, parents: tuple[int, ...]) -> bool:
    """The grammar written once more: a pattern, then conditions on the numbers in it."""
    if not re.fullmatch(r"((conv3x3|conv1x1|maxpool3x3)~([0-6](,[0-6])*)?\|){0,5}output~([0-6](,[0-6])*)?", text):
        return False
    sources = [[int(digit) for digit in re.findall(r"\d", part.split("~")[1])] for part in text.split("|")]
    if any(its != sorted(set(its)) or max(its, default=0) >= vertex for vertex, its in enumerate(sources, 1)):
        return False
    paths = {(0,)}
    for vertex, its in enumerate(sources, 1):
        paths |= {(*path, vertex) for path in paths if path[-1] in its}
    ends = [path for path in paths if path[-1] == len(sources)]
    if parents:
        return [len(its) for its in sources] == list(parents)
    return bool(ends) and len({edge for path in ends for edge in itertools.pairwise(path)}) <= 9


@pytest.mark.parametrize("name", SPACES_OF_CELLS)
@settings(max_examples=300, deadline=None)
@given(text=damaged_texts())
def test_texts_are_read_as_they_stand_or_refused(name: str, text: str) -> None:
    check_reading(name, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES_OF_CELLS)
@settings(max_examples=10_000, deadline=None)
@given(text=damaged_texts())
def test_many_texts_are_read_as_they_stand_or_refused(name: str, text: str) -> None:
    check_reading(name, text)
