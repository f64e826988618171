"""Find a space by the name that a user wrote."""

from __future__ import annotations

from typing import Any, cast

from firstlight.core.errors import SettingError
from firstlight.core.importing import import_named
from firstlight.spaces import SPACES, is_space
from firstlight.spaces.base import Space


def register(space: Space[Any]) -> None:
    """Make a space available by its name in this process, like the built-in ones.

    Worker processes receive the space itself; other processes do not know the name.

    Args:
        space: The space. Another space that was registered under the same name is replaced.

    Raises:
        SettingError: If a built-in space has the name.

    Example:
        >>> import firstlight
        >>> from torch import nn
        >>> @firstlight.choices(kernel=(1, 3))
        ... def tiny(kernel):
        ...     return nn.Sequential(nn.Conv2d(3, 10, kernel), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        >>> firstlight.register(tiny)
        >>> len(firstlight.space("tiny"))
        2
    """
    SPACES.add(space.name, space)


def find_space(name: str) -> Space[Any]:
    """Return the space of this name: built in, registered, offered by another package, or `module:name`.

    Raises:
        UnknownNameError: If there is no space of this name.
        SettingError: If `module:name` is not a space, or a class that cannot make one.
    """
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
    except Exception as error:  # anything that the user's class raises
        raise SettingError(f"The class {name!r} cannot make a space: {type(error).__name__}: {error}.") from error
