"""Writing a figure as an image file: SVG, PNG or PDF, by its ending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
# Letters of an SVG stay letters, and the same figure gives the same file
PLAIN: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "firstlight", "pdf.fonttype": 42}


def check_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise SettingError(
            f"{str(path)!r} does not say what kind of picture to write; its name must end in {', '.join(ENDINGS)}."
        )


def save_figure(figure: Figure, path: Path, *, dots_per_inch: int) -> None:
    """The same figure gives the same file."""
    import matplotlib

    check_ending(path)
    kind = path.suffix.lower().removeprefix(".")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context(PLAIN):
        try:
            figure.savefig(path, format=kind, dpi=dots_per_inch, metadata=undated)
        except OSError as error:
            raise SettingError(f"The picture cannot be written to {str(path)!r}: {error.strerror or error}.") from error
