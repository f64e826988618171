"""How figures for print look, and how they are saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError
from firstlight.views.drawing.files import write_image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches, as most journals have them
WIDTHS = {"column": 3.35, "page": 6.9}
NARROWEST, WIDEST = 2.0, 20.0
# The palette of Okabe and Ito, for color-blind readers; dashes and markers are for print without color
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

INK, PALE, GRID = "#1c1c28", "#9aa0b5", "#e3e5ee"
DOTS_PER_INCH = 300

_STYLE: dict[Any, Any] = {
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
    "text.parse_math": False,  # names appear as they are, dollar signs included
}


def series_style(number: int) -> tuple[str, Any, str]:
    """Return color, dashes and marker of a series, from 1 on. When colors repeat, dashes and markers differ."""
    place, turn = (number - 1) % len(COLORS), (number - 1) // len(COLORS)
    return COLORS[place], DASHES[(place + turn) % len(DASHES)], MARKERS[(place + turn) % len(MARKERS)]


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of print figures. The user's own settings of matplotlib are restored afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def inches(width: str | float) -> float:
    """Read a width: `column`, `page`, or a number of inches."""
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
    """Return an empty figure, `ratio` times as high as wide."""
    from matplotlib.figure import Figure

    across = inches(width)
    return Figure(figsize=(across, across * ratio), layout="constrained")


def save_figure(figure: Figure, path: str | Path) -> None:
    """Save a figure as an image file. The same figure gives the same file.

    Args:
        figure: A figure of one of the `plot_` functions.
        path: Where to save it. The suffix is the format: `.svg`, `.png` or `.pdf`.

    Raises:
        SettingError: If the suffix is unknown, the file cannot be written, or a value cannot be drawn.

    Example:
        >>> from firstlight.views import plot_agreement, save_figure
        >>> save_figure(plot_agreement("runs/study"), "agreement.pdf")  # doctest: +SKIP
    """
    try:
        write_image(figure, Path(path), dots_per_inch=DOTS_PER_INCH)
    except (ArithmeticError, ValueError) as error:  # matplotlib finds no ticks for numbers near the largest float
        raise SettingError(f"The figure cannot be drawn: {error}. Check that all values are finite.") from error
