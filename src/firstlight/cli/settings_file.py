"""Settings of a command from a file: they take the place of defaults, and the command line goes before both."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from firstlight.core.errors import SettingError, UnknownNameError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENDING = ".toml"


def recipes() -> dict[str, Any]:
    """Files that come with the package, by name."""
    folder = resources.files("firstlight") / "recipes"
    return {entry.name.removesuffix(ENDING): entry for entry in folder.iterdir() if entry.name.endswith(ENDING)}


def read_settings_file(given: str, allowed: set[str]) -> dict[str, Any]:
    """By the names of parameters. `given` is a path, or the name of a recipe of the package."""
    known = recipes()
    if given not in known and not Path(given).is_file():
        raise UnknownNameError("file of settings", given, known)
    source = known.get(given) or Path(given)
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # also what Python says to numbers of thousands of digits
        raise SettingError(
            f"{given} cannot be read as settings: {error}. Write lines such as samples = 500."
        ) from error
    for name, value in content.items():
        if name.replace("-", "_") not in allowed:
            raise SettingError(
                f"{given} sets {name!r}, which the command does not have. It has: "
                f"{', '.join(sorted(word.replace('_', '-') for word in allowed))}."
            )
        if not isinstance(value, (str, int, float)):
            raise SettingError(f"{given} sets {name} to {value!r}; expected a text or a number.")
    return {name.replace("-", "_"): str(value) for name, value in content.items()}


def _take(context: typer.Context, given: str | None) -> str | None:
    if given is not None and not context.resilient_parsing:
        allowed = {str(parameter.name) for parameter in context.command.params} - {"settings", "help"}
        context.default_map = {**(context.default_map or {}), **read_settings_file(given, allowed)}
    return given


SettingsOption = Annotated[
    str | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        is_eager=True,
        callback=_take,
        help="Options from a file of lines such as samples = 500, named as here; what is written on the command line "
        "goes before. Or a recipe that comes along: " + ", ".join(sorted(recipes())) + ".",
    ),
]
