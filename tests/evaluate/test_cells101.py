"""NAS-Bench-101 cells as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import DataError
from firstlight.evaluate.cells101 import OPERATIONS, cell101_text, cell101_text_of_digits


def test_the_example_of_the_benchmark() -> None:
    rows = ("0111010", "0000001", "0000001", "0000100", "0000001", "0000001", "0000000")
    text = "conv1x1~0|conv3x3~0|conv3x3~0|conv3x3~3|maxpool3x3~0|output~1,2,4,5"
    assert cell101_text("".join(rows), ["conv1x1", "conv3x3", "conv3x3", "conv3x3", "maxpool3x3"]) == text
    assert cell101_text_of_digits("".join(rows), "10002") == text


def test_cells_at_the_edge() -> None:
    assert cell101_text("0100", []) == "output~0"  # no inner vertex
    assert cell101_text("001000000", ["conv3x3"]) == "conv3x3~|output~0"  # one that is not used


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
        cell101_text_of_digits(adjacency, digits)


def test_unknown_operations_are_refused() -> None:
    with pytest.raises(DataError, match=r"no operation 'conv5x5'. It has: conv3x3, conv1x1, maxpool3x3"):
        cell101_text("001000000", ["conv5x5"])


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
    read = [entry.split("~") for entry in cell101_text(adjacency, operations).split("|")]
    assert [name for name, _ in read] == [*operations, "output"]
    assert edges == {
        (int(source), vertex)
        for vertex, (_, sources) in enumerate(read, start=1)
        for source in filter(None, sources.split(","))
    }
