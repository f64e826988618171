"""Find a space by the name that a user wrote."""

from __future__ import annotations

from typing import Any

from firstlight.core.errors import FirstlightError, SettingError
from firstlight.spaces import SPACES
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


def find_space(given: str | Space[Any]) -> Space[Any]:
    """Return the space that a user means: a name, `module:name`, an object, or a class without arguments."""
    try:
        return SPACES.find(given)
    except FirstlightError:
        raise
    except Exception as error:  # whatever the user's class does
        raise SettingError(
            f"The class {given!r} cannot be instantiated as a space: {type(error).__name__}: {error}."
        ) from error
