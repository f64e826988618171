"""Find a space as users name it."""

from __future__ import annotations

from typing import Any

from firstlight.core.errors import FirstlightError, SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Space


def register(space: Space[Any]) -> None:
    """Make a space available by its name in this process, as the built-in ones are."""
    SPACES.add(space.name, space)


def find_space(name: str) -> Space[Any]:
    """Return the space of this name: built in, registered, of another package, or `module:name`."""
    try:
        return SPACES.find(name)
    except FirstlightError:
        raise
    except Exception as error:  # whatever the user's class does
        raise SettingError(f"No space can be made of the class {name!r}: {type(error).__name__}: {error}.") from error
