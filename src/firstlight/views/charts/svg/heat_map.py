"""Numbers as colors."""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from firstlight.views.charts.description import HeatMap
from firstlight.views.charts.svg.frame import LONGEST, RIGHT, cut, svg

# Wider than other charts, since cells have numbers in them
WIDTH = 640
# The largest cells, as (width, height)
SQUARE, FLAT = (44, 44), (56, 30)
# Width of a digit
LETTER = 7.3


def heat_map(chart: HeatMap) -> Markup:
    """Cells as large as there is room for, with their numbers where these fit."""
    rows, columns, scale = chart.rows, chart.columns, chart.scale
    largest = SQUARE if chart.is_square else FLAT
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
        for column, value in enumerate(chart.values[row]):
            if value is None:
                continue
            x, known = left + width * column, not math.isnan(value)
            kind = "none" if not known else "agree" if value >= 0 else "oppose"
            is_chosen = (row, column) in chart.chosen
            tooltip = f"{name}, {columns[column]}: {_written(value, digits + 1, math.inf) if known else 'not defined'}"
            tooltip += ", chosen" if is_chosen else ""
            cell = (
                f'x="{x}" y="{y}" width="{width - 1}" height="{height - 1}" '
                f'fill-opacity="{min(1.0, abs(value) / scale) if known else 0.0:.2f}"'
            )
            parts.append(f'<rect class="cell {kind}" {cell}><title>{escape(tooltip)}</title></rect>')
            if width >= 30 and known:
                kind = ' class="strong"' if is_chosen else ""
                parts.append(
                    f'<text{kind} x="{x + width / 2:.1f}" y="{middle:.1f}" text-anchor="middle">'
                    f"{_written(value, digits, width)}</text>"
                )
            if is_chosen:
                framed.append(f'<rect class="frame" x="{x}" y="{y}" width="{width - 1}" height="{height - 1}"/>')
    beside = 8 if upright else round(12 + 4.6 * min(LONGEST, across))
    return svg(left + width * len(columns) + beside, top + height * len(rows) + 8, chart.title, [*parts, *framed])


def _written(value: float, digits: int, width: float) -> str:
    """Write a small number with one significant digit instead of zeros, if there is room."""
    fixed, short = _fixed(value, digits), f"{value:.1g}"
    return short if value and not float(fixed) and LETTER * len(short) < width else fixed


def _fixed(value: float, digits: int) -> str:
    """Write a number with a fixed number of decimals, and no minus before zeros."""
    return f"{round(value, digits) + 0.0:.{digits}f}"
