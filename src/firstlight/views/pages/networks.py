"""The networks of a page, for its table and for the tooltips of its charts.

The page holds them once, packed: as text that no architecture can break out of, with a few bytes for each network. The
script of the page unpacks it; without scripts, the first rows can still be read.
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

# Rows in the HTML itself
FIRST_ROWS = 20
# A number this many times as large as the median does not decide the number of decimals
FAR_OFF = 100


@dataclass(frozen=True)
class Column:
    """A column of the table; `digits` is the number of decimals, None for text."""

    name: str
    digits: int | None = None

    def written(self, value: Value) -> str:
        if value is None:
            return "-"
        return str(value) if self.digits is None or isinstance(value, str) else f"{value:,.{self.digits}f}"


@dataclass(frozen=True)
class Networks:
    """A table of networks, best first."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]

    def first(self) -> list[list[str]]:
        """Return the first rows as text."""
        return [
            [column.written(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows[:FIRST_ROWS]
        ]

    def packed(self) -> str:
        """Return the table as compressed text, by columns, which compress better than rows."""
        values = [
            [_rounded(row[place], column.digits) for row in self.rows] for place, column in enumerate(self.columns)
        ]
        content = {"columns": [asdict(column) for column in self.columns], "values": values}
        return base64.b64encode(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)).decode()


def digits_for(values: Iterable[float]) -> int:
    """Return the decimals that give the largest number five significant digits; outliers do not count."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes:
        return 4
    largest, usual = max(sizes), median_high(sizes)
    return max(0, min(12, 4 - math.floor(math.log10(usual if largest > FAR_OFF * usual else largest))))


def _rounded(value: Value, digits: int | None) -> Value:
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return value if isinstance(value, str) else None
    return round(value, digits) if digits else round(value)
