"""Write a figure as an image file: SVG, PNG or PDF, by its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
# Text of an SVG stays text, and the same figure gives the same file
PLAIN: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "firstlight", "pdf.fonttype": 42}


def check_suffix(path: Path) -> None:
    """Refuse a file whose suffix is not that of an image."""
    if path.suffix.lower() not in SUFFIXES:
        raise SettingError(
            f"{str(path)!r} has no suffix of an image format; its name must end in {', '.join(SUFFIXES)}."
        )


def write_image(figure: Figure, path: Path, *, dots_per_inch: int) -> None:
    """Write the figure; the same figure gives the same file."""
    import matplotlib

    check_suffix(path)
    kind = path.suffix.lower().removeprefix(".")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context(PLAIN):
        try:
            figure.savefig(path, format=kind, dpi=dots_per_inch, metadata=undated)
        except OSError as error:
            raise SettingError(f"The image cannot be written to {str(path)!r}: {error.strerror or error}.") from error
