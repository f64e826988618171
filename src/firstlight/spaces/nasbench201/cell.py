"""Cells of NAS-Bench-201: one operation on each of six edges."""

from __future__ import annotations

from dataclasses import dataclass

from firstlight.core.errors import ParseError
from firstlight.spaces.base import Architecture
from firstlight.spaces.cells import EDGES

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
# the operations that the digits of NASLib stand for
DIGITS = ("skip_connect", "none", "nor_conv_3x3", "nor_conv_1x1", "avg_pool_3x3")


@dataclass(frozen=True)
class Cell201(Architecture):
    """One operation for each of the six edges, in the order of `EDGES`."""

    operations: tuple[str, ...]

    @classmethod
    def from_digits(cls, digits: str) -> Cell201:
        """Make a cell from one digit for each edge, as NASLib and its tables write it.

        Edges are ordered by their source: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3. The text orders them by their target.

        Raises:
            ParseError: If these are not six digits from 0 to 4.
        """
        for position, digit in enumerate(digits):
            if digit not in "01234":
                raise ParseError(digits, position, "a digit from 0 to 4")
        if len(digits) != len(EDGES):
            raise ParseError(digits, min(len(digits), len(EDGES)), "six digits")
        by_source = sorted((source, target) for target, source in EDGES)
        operations = {edge: DIGITS[int(digit)] for edge, digit in zip(by_source, digits, strict=True)}
        return cls(tuple(operations[source, target] for target, source in EDGES))

    def __str__(self) -> str:
        nodes = []
        for target in range(1, 4):
            inputs = [
                f"{op}~{source}" for (node, source), op in zip(EDGES, self.operations, strict=True) if node == target
            ]
            nodes.append(f"|{'|'.join(inputs)}|")
        return "+".join(nodes)
