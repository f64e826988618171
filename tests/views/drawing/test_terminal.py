"""The graph in the terminal says what the drawing says: it is read back from its lanes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.spaces import SPACES
from firstlight.spaces.base import Drawing
from firstlight.views.drawing.terminal import NODE, text_graph


@st.composite
def graphs(draw: st.DrawFn) -> Drawing:
    size = draw(st.integers(2, 8))
    pairs = [(start, end) for end in range(size) for start in range(end)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    return Drawing(tuple(f"n{i}" for i in range(size)), tuple((start, end, "") for start, end in chosen))


def test_lanes_cross_and_join() -> None:
    drawing = Drawing(("in", "1", "2", "out"), ((0, 1, "a"), (0, 2, "b"), (1, 2, "c"), (0, 3, "d"), (2, 3, "e")))
    assert text_graph(drawing) == [
        "●      in",
        "├─╮    a",
        "│ ●    1",
        "├─┼─╮  b",
        "│ ╰─┤  c",
        "│   ●  2",
        "╰─╮ │  d",
        "  ├─╯  e",
        "  ●    out",
    ]


def test_a_chain_is_a_line() -> None:
    assert text_graph(Drawing(("a", "b"), ((0, 1, "op"),))) == ["●  a", "│  op", "●  b"]


def test_nodes_that_nothing_joins() -> None:
    assert text_graph(Drawing(("a", "b"), ())) == ["●  a", "●  b"]


@given(graphs())
def test_every_edge_can_be_followed(drawing: Drawing) -> None:
    lines = text_graph(drawing)
    assert len(lines) == len(drawing.nodes) + len(drawing.edges)
    assert sorted(_followed(lines, drawing.nodes)) == sorted((start, end) for start, end, _ in drawing.edges)


def _followed(lines: list[str], names: tuple[str, ...]) -> list[tuple[int, int]]:
    """The edges, by following each line of signs from the lane of its source to the lane of the node below."""
    lanes: dict[int, int] = {}
    edges: list[tuple[int, int]] = []
    rows: list[str] = []
    node = 0
    for line in lines:
        if NODE not in line:
            rows.append(line)
            continue
        lane = line.index(NODE)
        assert line.endswith(f"  {names[node]}")
        for row in rows:
            run = (row.index("─") - 1, row.rindex("─") + 1) if "─" in row else (lane, lane)
            assert lane in run
            edges.append((lanes[run[0] if run[1] == lane else run[1]], node))
        lanes[lane], node, rows = node, node + 1, []
    return edges


@pytest.mark.parametrize("name", SPACES)
def test_every_space_can_be_drawn(name: str) -> None:
    space = SPACES[name]
    for seed in range(10):
        drawing = space.drawing(space.sample(random.Random(seed)))
        assert drawing is not None
        assert sorted(_followed(text_graph(drawing), drawing.nodes)) == sorted((a, b) for a, b, _ in drawing.edges)
