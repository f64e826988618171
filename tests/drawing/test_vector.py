from __future__ import annotations

from xml.etree import ElementTree

from firstlight.drawing.vector import draw
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
