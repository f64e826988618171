from __future__ import annotations

import itertools
from xml.etree import ElementTree

from firstlight.drawing.vector import WIDEST, draw
from firstlight.spaces import Drawing


def test_names_and_operations_are_text_and_not_markup() -> None:
    drawn = str(draw(Drawing(("<b>", "out"), ((0, 1, "a & b"),))))
    root = ElementTree.fromstring(drawn)
    assert [text.text for text in root.iter("text")] == ["a & b", "<b>", "out"]
    assert root.get("aria-label") == "<b> to out: a & b"


def test_an_edge_for_each_edge_and_a_box_for_each_node() -> None:
    root = ElementTree.fromstring(str(draw(Drawing(("a", "b", "c"), ((0, 1, ""), (1, 2, ""), (0, 2, "far"))))))
    assert len([path for path in root.iter("path") if path.get("class") == "edge"]) == 3
    assert len(list(root.iter("rect"))) == 3


def test_a_graph_that_is_wider_than_a_page_goes_down_instead() -> None:
    names = tuple(f"a node with a long name, the {number}th" for number in range(8))
    edges = tuple((start, end, "dense, sparse") for end in range(8) for start in range(end) if (start + end) % 3)
    root = ElementTree.fromstring(str(draw(Drawing(names, edges))))
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    assert width < WIDEST < 8 * 200
    boxes = [(float(box.get("y", "")), float(box.get("height", ""))) for box in root.iter("rect")]
    assert all(y + size < below for (y, size), (below, _) in itertools.pairwise(boxes))
    assert boxes[-1][0] + boxes[-1][1] < height
    assert len([path for path in root.iter("path") if path.get("class") == "edge"]) == len(edges)
    places = [float(text.get("x", "")) for text in root.iter("text") if text.text == "dense, sparse"]
    assert all(45 < x < width - 45 for x in places)
