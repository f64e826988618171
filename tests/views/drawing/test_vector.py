from __future__ import annotations

import itertools
from xml.etree import ElementTree

from firstlight.spaces import SPACES
from firstlight.spaces.base import Drawing
from firstlight.views.drawing.column import lay_out_in_column
from firstlight.views.drawing.layout import LETTER
from firstlight.views.drawing.vector import WIDEST, draw, draw_for_pages


def test_names_and_operations_are_text_and_not_markup() -> None:
    drawn = str(draw(Drawing(("<b>", "out"), ((0, 1, "a & b"),))))
    root = ElementTree.fromstring(drawn)
    assert [text.text for text in root.iter("text")] == ["a & b", "<b>", "out"]
    assert root.get("aria-label") == "<b> to out: a & b"


def test_an_edge_for_each_edge_and_a_box_for_each_node() -> None:
    root = ElementTree.fromstring(str(draw(Drawing(("a", "b", "c"), ((0, 1, ""), (1, 2, ""), (0, 2, "far"))))))
    assert len([path for path in root.iter("path") if path.get("class") == "edge"]) == 3
    assert len([box for box in root.iter("rect") if box.get("class") == "node"]) == 3


def test_a_graph_that_is_wider_than_a_page_goes_down_instead() -> None:
    names = tuple(f"a node with a long name, the {number}th" for number in range(8))
    edges = tuple((start, end, "dense, sparse") for end in range(8) for start in range(end) if (start + end) % 3)
    root = ElementTree.fromstring(str(draw(Drawing(names, edges))))
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    assert width < WIDEST < 8 * 200
    boxes = [
        (float(box.get("y", "")), float(box.get("height", "")))
        for box in root.iter("rect")
        if box.get("class") == "node"
    ]
    assert all(y + size < below for (y, size), (below, _) in itertools.pairwise(boxes))
    assert boxes[-1][0] + boxes[-1][1] < height
    assert len([path for path in root.iter("path") if path.get("class") == "edge"]) == len(edges)
    places = [float(text.get("x", "")) for text in root.iter("text") if text.text == "dense, sparse"]
    assert all(45 < x < width - 45 for x in places)


def test_phones_have_a_drawing_that_goes_down_if_it_is_narrower() -> None:
    across = Drawing(("a", "b", "c", "d"), ((0, 1, "first"), (1, 2, "second"), (2, 3, "third"), (0, 3, "far")))
    root = ElementTree.fromstring(f"<div>{draw_for_pages(across)}</div>")
    widths = {svg.get("class"): float(str(svg.get("viewBox")).split()[2]) for svg in root}
    assert widths["down"] < widths["across"]
    tips = [str(marker.get("id")) for marker in root.iter("marker")]
    assert len(set(tips)) == 2  # a tip in a drawing that is not shown may not be found
    assert draw_for_pages(Drawing(("a", "b"), ((0, 1, "x" * 40),))).count("<svg") == 1


def test_labels_of_a_column_stay_clear_of_its_nodes() -> None:
    layout = lay_out_in_column(
        Drawing(("a", "a node with a name", "c"), ((0, 1, ""), (1, 2, ""), (0, 2, "dense, sparse")))
    )
    label = next(arrow for arrow in layout.arrows if arrow.label)
    widest = max(box.width for box in layout.boxes)
    assert abs(label.label_at[0] - layout.boxes[0].x) - LETTER * len(label.label) / 2 > widest / 2


def test_no_edge_is_drawn_over_a_label() -> None:
    svg = draw(SPACES["nasrec-small"].drawing(SPACES["nasrec-small"].sample(3)))
    assert svg.rindex('class="edge"') < svg.index('class="plate"') < svg.index('class="operation"')
    assert svg.count('class="plate"') == svg.count('class="operation"')
