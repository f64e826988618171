"""How all figures look, and how they are written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError
from firstlight.views.drawing.files import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches, as most journals have them
WIDTHS = {"column": 3.35, "page": 6.9}
NARROWEST, WIDEST = 2.0, 20.0
# Okabe and Ito's colours, which colour-blind readers tell apart; dashes and marks do so in print without colours
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))
MARKS = ("o", "s", "^", "D", "v", "P", "X")

INK, PALE, GRID = "#1c1c28", "#9aa0b5", "#e3e5ee"
DOTS_PER_INCH = 300

_LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "figure.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "text.parse_math": False,  # names are shown as they are, whatever signs they hold
}


def styles() -> Iterator[tuple[str, Any, str]]:
    """A colour, a kind of line and a mark for one after the other; after all colours, each has another kind of line."""
    for number in itertools.count():
        place, turn = number % len(COLOURS), number // len(COLOURS)
        yield COLOURS[place], DASHES[(place + turn) % len(DASHES)], MARKS[(place + turn) % len(MARKS)]


@contextmanager
def look() -> Iterator[None]:
    """Within, whatever is drawn looks alike; the user's own settings are as before afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK)
        yield


def inches(width: str | float) -> float:
    """`column`, `page`, or a number of inches."""
    if width in WIDTHS:
        return WIDTHS[str(width)]
    try:
        number = float(width)
    except ValueError:
        number = 0.0
    if not NARROWEST <= number <= WIDEST:
        raise SettingError(
            f"The width is {width!r}; write {', '.join(WIDTHS)}, or inches between {NARROWEST:g} and {WIDEST:g}."
        )
    return number


def blank(width: str | float, ratio: float) -> Figure:
    """An empty figure, `ratio` times as high as it is wide."""
    from matplotlib.figure import Figure

    across = inches(width)
    return Figure(figsize=(across, across * ratio), layout="constrained")


def write(figure: Figure, path: str | Path) -> None:
    """SVG, PNG or PDF, by the ending; the same figure gives the same file."""
    try:
        save_figure(figure, Path(path), dots_per_inch=DOTS_PER_INCH)
    except (ArithmeticError, ValueError) as error:  # matplotlib finds no ticks for numbers at the ends of what there is
        raise SettingError(f"The figure cannot be drawn: {error}. Are its numbers all of this world?") from error
