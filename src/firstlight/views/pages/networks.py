"""The networks of a page: a table to look at, and what charts tell of their dots.

All of it is in the page once, packed: as text that no architecture can break out of, and that takes a few bytes for
each network. The script of the page unpacks it; without one, the first rows can be read.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median_high

Value = str | float | None

# Rows that are there without the script
FIRST_ROWS = 20
# How many times as large as a usual number one is that would leave the others no digits
FAR_OFF = 100


@dataclass(frozen=True)
class Column:
    """A text has no `digits`; a number has so many behind the point."""

    name: str
    digits: int | None = None

    def written(self, value: Value) -> str:
        if value is None:
            return "-"
        return str(value) if self.digits is None or isinstance(value, str) else f"{value:,.{self.digits}f}"


@dataclass(frozen=True)
class Networks:
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]

    def first(self) -> list[list[str]]:
        return [
            [column.written(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows[:FIRST_ROWS]
        ]

    def packed(self) -> str:
        """Columns compress better than rows."""
        values = [
            [_rounded(row[place], column.digits) for row in self.rows] for place, column in enumerate(self.columns)
        ]
        content = {"columns": [asdict(column) for column in self.columns], "values": values}
        return base64.b64encode(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)).decode()


def digits_for(values: Iterable[float]) -> int:
    """Behind the point, so that the largest number has five that count; a usual one, if the largest is far off."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes:
        return 4
    largest, usual = max(sizes), median_high(sizes)
    return max(0, min(12, 4 - math.floor(math.log10(usual if largest > FAR_OFF * usual else largest))))


def _rounded(value: Value, digits: int | None) -> Value:
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return value if isinstance(value, str) else None
    return round(value, digits) if digits else round(value)
