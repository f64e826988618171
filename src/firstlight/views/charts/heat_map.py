"""Numbers as colours."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from markupsafe import Markup, escape

from firstlight.views.charts.frame import LONGEST, RIGHT, cut, svg

# Cells have numbers in them, so that they need more room than other charts
WIDTH = 640
# How wide a digit is
LETTER = 7.3


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    label: str,
    *,
    scale: float = 1.0,
    largest: tuple[int, int] = (44, 44),
    chosen: Collection[tuple[int, int]] = (),
) -> Markup:
    """A cell for each row and column: blue above 0, orange below, pale in between, and full at `scale`.

    Those that are `chosen` are framed. There is no cell for None, and an empty one for NaN. Cells are as large as there
    is room for, and at most `largest`.
    """
    across = max(map(len, columns))
    left = round(16 + 7.8 * min(LONGEST, max(map(len, rows))))
    width = max(18, min(largest[0], (WIDTH - left - RIGHT) // len(columns)))
    height = min(largest[1], width)
    upright = 8 * across <= width
    top = 28 if upright else round(24 + 6.6 * min(LONGEST, across))
    parts = []
    for column, name in enumerate(columns):
        x = left + width * column + width / 2
        place = f'x="{x:.1f}" y="{top - 8}" text-anchor="middle"'
        turned = f'transform="translate({x:.1f} {top - 8}) rotate(-55)"'
        parts.append(f"<text {place if upright else turned}>{escape(cut(name, LONGEST))}</text>")
    framed = []
    digits = 2 + max(0, math.floor(-math.log10(scale)))
    for row, name in enumerate(rows):
        y = top + height * row
        middle = y + height / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{escape(cut(name, LONGEST))}</text>')
        for column, value in enumerate(values[row]):
            if value is None:
                continue
            x, known = left + width * column, not math.isnan(value)
            kind = "none" if not known else "agree" if value >= 0 else "oppose"
            said = f"{name}, {columns[column]}: {_written(value, digits + 1, math.inf) if known else 'not defined'}"
            cell = (
                f'x="{x}" y="{y}" width="{width - 1}" height="{height - 1}" '
                f'fill-opacity="{min(1.0, abs(value) / scale) if known else 0.0:.2f}"'
            )
            taken = (row, column) in chosen
            parts.append(
                f'<rect class="cell {kind}" {cell}><title>{escape(said)}{", taken" if taken else ""}</title></rect>'
            )
            if width >= 30 and known:
                kind = ' class="strong"' if taken else ""
                parts.append(
                    f'<text{kind} x="{x + width / 2:.1f}" y="{middle:.1f}" text-anchor="middle">'
                    f"{_written(value, digits, width)}</text>"
                )
            if taken:
                framed.append(f'<rect class="frame" x="{x}" y="{y}" width="{width - 1}" height="{height - 1}"/>')
    beside = 8 if upright else round(12 + 4.6 * min(LONGEST, across))
    return svg(left + width * len(columns) + beside, top + height * len(rows) + 8, label, [*parts, *framed])


def _written(value: float, digits: int, width: float) -> str:
    """Small numbers among larger ones have one digit that counts, where there is room, instead of zeros."""
    fixed, short = _fixed(value, digits), f"{value:.1g}"
    return short if value and not float(fixed) and LETTER * len(short) < width else fixed


def _fixed(value: float, digits: int) -> str:
    """So many digits behind the point, and no minus before zeros."""
    return f"{round(value, digits) + 0.0:.{digits}f}"
