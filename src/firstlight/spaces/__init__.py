"""Every search space, found by looking into this folder: a module's concrete `Space` classes are its entries."""

import inspect
from types import ModuleType
from typing import Any

from firstlight.registry import Registry
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space


def _spaces_of(module: ModuleType) -> dict[str, Space[Any]]:
    classes = [entry for entry in vars(module).values() if inspect.isclass(entry) and issubclass(entry, Space)]
    # a class without a name of its own is what several spaces have in common
    return {entry.name: entry() for entry in classes if not inspect.isabstract(entry) and hasattr(entry, "name")}


SPACES: Registry[Space[Any]] = Registry("search space", __name__, _spaces_of)

__all__ = ["SPACES", "Architecture", "Drawing", "Skeleton", "Space"]
