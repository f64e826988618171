"""NAS-Bench-101 cells as text: what tables of this benchmark are joined on, and what its space reads and writes.

    conv1x1~0|conv3x3~0,1|output~1,2

are the vertices behind the cell's input in their order, each with its operation and the numbers of the vertices that
lead to it. The input is vertex 0. A vertex that nothing leads to has an empty list: `maxpool3x3~`.
"""

from __future__ import annotations

from collections.abc import Sequence

from firstlight.errors import DataError

# in the order of the benchmark's own hash; tables write them as the digits 0, 1 and 2
OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")


def cell101_text(adjacency: str, operations: Sequence[str]) -> str:
    """The text of a cell, from its matrix written row by row in 0 and 1, and the operations of its inner vertices."""
    vertices = len(operations) + 2
    if len(adjacency) != vertices**2 or set(adjacency) - {"0", "1"}:
        raise DataError(
            f"{adjacency!r} is not the matrix of a cell with {vertices - 2} inner vertices: "
            f"expected {vertices} x {vertices} characters 0 or 1, row by row."
        )
    unknown = [name for name in operations if name not in OPERATIONS]
    if unknown:
        raise DataError(f"A cell of NAS-Bench-101 has no operation {unknown[0]!r}. It has: {', '.join(OPERATIONS)}.")
    columns = [adjacency[vertex::vertices] for vertex in range(vertices)]  # a column holds what leads to its vertex
    if any("1" in column[vertex:] for vertex, column in enumerate(columns)):
        raise DataError(f"{adjacency!r} is not the matrix of a cell: an edge does not lead to a later vertex.")
    return "|".join(
        f"{name}~{','.join(str(source) for source, edge in enumerate(column) if edge == '1')}"
        for name, column in zip((*operations, "output"), columns[1:], strict=True)
    )


def cell101_text_of_digits(adjacency: str, digits: str) -> str:
    """The same for operations written as digits: 0, 1 and 2 stand for `OPERATIONS`."""
    if set(digits) - set("012"):
        raise DataError(f"{digits!r} are not operations of a NAS-Bench-101 cell: expected only digits 0, 1 and 2.")
    return cell101_text(adjacency, [OPERATIONS[int(digit)] for digit in digits])
