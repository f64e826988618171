"""A graph in the terminal: nodes from top to bottom, with a lane for each node that has further edges.

    ●        input
    ├─╮      nor_conv_3x3
    │ ●      1
    ├─┼─╮    skip_connect
    │ ╰─┤    nor_conv_1x1
    │   ●    2

Each line between two nodes is an edge, from the lane of its source to the lane above its target.
"""

from __future__ import annotations

from collections.abc import Iterator

from firstlight.spaces.base import Drawing

NODE, LANE, RUN, CROSSING = "●", "│", "─", "┼"


def text_graph(drawing: Drawing) -> list[str]:
    """Return a line of text for each edge and each node."""
    rows = list(_rows(drawing))
    width = max(len(lanes) for lanes, _ in rows)
    return [f"{lanes:{width}}  {label}".rstrip() for lanes, label in rows]


def _rows(drawing: Drawing) -> Iterator[tuple[str, str]]:
    last_use = {source: target for source, target, _ in sorted(drawing.edges, key=lambda edge: edge[1])}
    lanes: dict[int, int] = {}  # of nodes with further edges
    for node, name in enumerate(drawing.nodes):
        arriving = sorted((source, label) for source, target, label in drawing.edges if target == node)
        ending = [source for source, _ in arriving if last_use[source] == node]
        straight = len(arriving) == len(ending) == 1
        lane = lanes[ending[0]] if straight else _free(lanes)
        for number, (source, label) in enumerate(arriving):
            if straight:
                yield _line(lanes, {}), label
                continue
            is_last = source in ending and all(later != source for later, _ in arriving[number + 1 :])
            start = lanes.pop(source) if is_last else lanes[source]
            yield _edge(lanes, start, lane, leaves=is_last, joins=number > 0), label
        if straight:
            del lanes[ending[0]]
        yield _line(lanes, {lane: NODE}), name
        if node in last_use:
            lanes[node] = lane


def _free(lanes: dict[int, int]) -> int:
    """Return the first free lane."""
    return next(lane for lane in range(len(lanes) + 1) if lane not in lanes.values())


def _edge(lanes: dict[int, int], start: int, end: int, *, leaves: bool, joins: bool) -> str:
    """Write a run from the lane of the source to that of the target; a lane without further edges ends here."""
    low, high = sorted((start, end))
    to_the_right = start < end
    at_start = ("╰" if leaves else "├") if to_the_right else ("╯" if leaves else "┤")
    at_end = ("┤" if joins else "╮") if to_the_right else ("├" if joins else "╭")
    return _line(lanes, {start: at_start, end: at_end}, low, high)


def _line(lanes: dict[int, int], signs: dict[int, str], low: int = 0, high: int = 0) -> str:
    """Write all lanes in use, with other signs on some, and a run from one lane to another across those between."""
    used = set(lanes.values())
    text = ""
    for lane in range(max([*used, *signs], default=0) + 1):
        inside = low < lane < high
        empty = RUN if inside else " "
        text += signs.get(lane) or ((CROSSING if inside else LANE) if lane in used else empty)
        text += RUN if low <= lane < high else " "
    return text.rstrip()
