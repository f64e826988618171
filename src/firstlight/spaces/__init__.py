"""Every search space, found by looking into this folder: a module's concrete `Space` classes are its entries."""

import inspect
from types import ModuleType
from typing import Any, cast

from firstlight.errors import SettingError
from firstlight.importing import import_named
from firstlight.registry import Registry
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.custom import ChoiceSpace, choices


def _spaces_of(module: ModuleType) -> dict[str, Space[Any]]:
    classes = [entry for entry in vars(module).values() if inspect.isclass(entry) and issubclass(entry, Space)]
    # a class without a name of its own is what several spaces have in common
    return {entry.name: entry() for entry in classes if not inspect.isabstract(entry) and hasattr(entry, "name")}


SPACES: Registry[Space[Any]] = Registry("search space", __name__, _spaces_of)


def register(space: Space[Any]) -> None:
    """From now on, in this process, the space of your own is found by its name, as those of the package are."""
    SPACES.add(space.name, space)


def find_space(name: str) -> Space[Any]:
    """The space of this name, or one of your own by `module:name`."""
    if ":" not in name or name in SPACES:
        return SPACES[name]
    entry = import_named(name)
    if not is_space(entry):
        raise SettingError(
            f"{name!r} is a {type(entry).__name__} and no search space. Make one with firstlight.ChoiceSpace or "
            f"@firstlight.choices, or name one of {', '.join(SPACES)}."
        )
    if isinstance(entry, Space):
        return entry
    try:
        return cast(Space[Any], entry())
    except Exception as error:  # whatever the user's class does
        raise SettingError(f"No space can be made of the class {name!r}: {type(error).__name__}: {error}.") from error


def is_space(entry: object) -> bool:
    """Whether it is a space, or a class of which one can be made."""
    return isinstance(entry, Space) or (inspect.isclass(entry) and issubclass(entry, Space))


__all__ = [
    "SPACES",
    "Architecture",
    "ChoiceSpace",
    "Drawing",
    "Skeleton",
    "Space",
    "choices",
    "find_space",
    "is_space",
    "register",
]
