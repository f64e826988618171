"""Find a space as users name it."""

from __future__ import annotations

from typing import Any, cast

from firstlight.core.errors import SettingError
from firstlight.core.importing import import_named
from firstlight.spaces import SPACES, is_space
from firstlight.spaces.base import Space


def register(space: Space[Any]) -> None:
    """Make a space available by its name in this process, as the built-in ones are."""
    SPACES.add(space.name, space)


def find_space(name: str) -> Space[Any]:
    """Return the space of this name: built in, registered, from another package, or `module:name`."""
    if ":" not in name or name in SPACES:
        return made_space(SPACES[name], name)
    entry = import_named(name)
    if not is_space(entry):
        raise SettingError(
            f"{name!r} is a {type(entry).__name__}, not a search space. Make one with firstlight.ChoiceSpace or "
            f"@firstlight.choices, or name one of {', '.join(SPACES)}."
        )
    return made_space(entry, name)


def made_space(entry: object, name: str) -> Space[Any]:
    """Return the space itself, or the one that a class makes."""
    if isinstance(entry, Space):
        return entry
    try:
        return cast(type[Space[Any]], entry)()
    except Exception as error:  # whatever the user's class does
        raise SettingError(f"No space can be made of the class {name!r}: {type(error).__name__}: {error}.") from error
