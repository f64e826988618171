"""What commands are pointed at: architectures in arguments and files, and your own models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from firstlight.cli.derive import COMMAND
from firstlight.core.errors import FirstlightError, SettingError
from firstlight.options import Network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from firstlight.scoring.models import Model
    from firstlight.spaces.base import Space


def from_flag(
    *,
    from_file: Annotated[
        str | None,
        Parameter(
            name="--from",
            help="Read architectures from a file, one per line; - is standard input. Lines that begin with # are "
            "comments.",
            group=COMMAND,
            allow_leading_hyphen=True,
        ),
    ] = None,
) -> None:
    """The flag `--from`."""


def seed_of(given: Mapping[str, Any]) -> int:
    """Return the seed among the flags."""
    return Network(seed=given.get("seed", 0)).only_seed


def read_networks(
    networks: str, others: Sequence[str], source: str | None, seed: int
) -> tuple[str | Mapping[str, Model], list[str]]:
    """Return a space and architectures of it, or your own models by name."""
    if is_own_model(networks, seed):
        if source:
            raise SettingError(
                f"{networks} is a model, but --from {source} is for architectures of a space. List further models "
                "after it instead."
            )
        return {name: import_model(name, seed) for name in (networks, *others)}, []
    from firstlight.spaces.finding import find_space

    return networks, read_architectures(find_space(networks), others, source)


def is_own_model(name: str, seed: int) -> bool:
    """Return whether `module:name` is a model, and not a space."""
    from firstlight.spaces import SPACES, is_space

    return ":" in name and name not in SPACES and not is_space(import_model(name, seed))


def import_model(name: str, seed: int) -> Model:
    """Import a model, or the function that makes one, by `module:name`."""
    from firstlight.core.importing import import_named
    from firstlight.core.seeds import seeded

    with seeded(seed):  # for models that are made as their module is imported
        model: Model = import_named(name)
    return model


def read_architectures(space: Space[Any], architectures: Sequence[str], source: str | None) -> list[str]:
    """Return the exact texts of the architectures in the arguments, then of those in the file."""
    given = [str(space.read(text)) for text in architectures]
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
