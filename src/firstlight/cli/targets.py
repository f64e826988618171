"""What commands are pointed at: architectures in arguments and files, and models of one's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.core.errors import FirstlightError, SettingError

if TYPE_CHECKING:
    from firstlight.scoring.models import Model
    from firstlight.spaces.base import Space

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE|-",
        help="Read architectures from a file, one a line; - is standard input. Lines that begin with # are comments.",
    ),
]
ShapeOption = Annotated[
    str | None,
    typer.Option("--input-shape", help="Shape of one synthetic input, for models of your own; by default 3,32,32."),
]
LogitsOption = Annotated[
    str | None,
    typer.Option(
        "--logits",
        metavar="NAME|NUMBER",
        help="Which part of the output holds the logits, for a model of your own that returns a dictionary or a tuple.",
    ),
]


def is_own_model(target: str, seed: int) -> bool:
    """Whether `target` is `module:name` of a model, and not the name of a space or `module:name` of one."""
    from firstlight.spaces import SPACES, is_space

    return ":" in target and target not in SPACES and not is_space(import_model(target, seed))


def read_logits(text: str | None) -> int | str | None:
    """A number counts the parts of a tuple, anything else is a key of a dictionary."""
    return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,9}", text) else text


def import_model(target: str, seed: int) -> Model:
    """The model, or the function that makes one, that `module:name` stands for."""
    from firstlight.core.importing import import_named
    from firstlight.core.seeds import seeded

    with seeded(seed):  # for models that are made as their module is imported
        model: Model = import_named(target)
    return model


def read_architectures(space: Space[Any], architectures: list[str] | None, source: str | None) -> list[str]:
    """The exact texts of those in the arguments, then of those in the file."""
    given = [str(space.read(text)) for text in architectures or []]
    return given + [_parse_line(space, source, *line) for line in _read_lines(source)]


def _parse_line(space: Space[Any], source: str | None, number: int, text: str) -> str:
    try:
        return str(space.read(text))
    except FirstlightError as error:
        raise SettingError(f"Line {number} of {source}: {error}") from error


def _read_lines(source: str | None) -> list[tuple[int, str]]:
    if source is None:
        return []
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"--from {source} cannot be read: {error}") from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    return [(number, line) for number, line in lines if line and not line.startswith("#")]
