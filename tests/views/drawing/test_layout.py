"""Nothing in a picture stands on anything else or outside."""

from __future__ import annotations

import itertools
import random

import pytest

from firstlight.spaces import SPACES
from firstlight.spaces.base import Drawing
from firstlight.views.drawing.layout import LONGEST_ROW, NODE_HEIGHT, lay_out


@pytest.mark.parametrize("name", SPACES)
def test_boxes_stay_apart_and_everything_is_inside(name: str) -> None:
    space = SPACES[name]
    for seed in range(5):
        drawing = space.drawing(space.sample(random.Random(seed)))
        assert drawing is not None
        layout = lay_out(drawing)
        assert len(layout.arrows) == len({edge[:2] for edge in drawing.edges})
        for one, other in itertools.combinations(layout.boxes, 2):
            assert abs(one.x - other.x) > (one.width + other.width) / 2 or abs(one.y - other.y) > NODE_HEIGHT
        for box in layout.boxes:
            assert box.width / 2 < box.x < layout.width - box.width / 2
            assert NODE_HEIGHT / 2 < box.y < layout.height - NODE_HEIGHT / 2
        for arrow in layout.arrows:
            (x0, y0), _, _, (x1, y1) = arrow.points
            assert 0 < x0 < x1 < layout.width
            assert y0 == y1
            assert 0 < arrow.label_at[1] < layout.height


def test_a_long_chain_is_broken_and_goes_on_where_it_stopped() -> None:
    nodes = 2 * LONGEST_ROW + 1
    chain = Drawing(tuple(map(str, range(nodes))), tuple((i, i + 1, "") for i in range(nodes - 1)))
    layout = lay_out(chain)
    rows = {y: [box.name for box in layout.boxes if box.y == y] for y in sorted({box.y for box in layout.boxes})}
    first, second = rows.values()
    assert first == [str(number) for number in range(LONGEST_ROW + 1)]
    assert second == [str(number) for number in range(LONGEST_ROW, nodes)]


def test_edges_between_the_same_nodes_are_one_arrow_with_all_labels() -> None:
    layout = lay_out(Drawing(("a", "b"), ((0, 1, "first"), (0, 1, "second"))))
    assert [arrow.label for arrow in layout.arrows] == ["first, second"]


def test_graphs_that_do_not_hang_together_get_a_row_each() -> None:
    layout = lay_out(Drawing(("a", "b", "c", "d"), ((0, 2, ""), (1, 3, ""))))
    assert [[box.name for box in layout.boxes if box.y == y] for y in sorted({box.y for box in layout.boxes})] == [
        ["a", "c"],
        ["b", "d"],
    ]
