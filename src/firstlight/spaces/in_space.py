"""The search space of a setting, which may be a user's own."""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass, field
from typing import Any, Protocol

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Skeleton, Space
from firstlight.spaces.finding import find_space


class Surroundings(Protocol):
    """A space, and the skeleton of its networks."""

    @property
    def space(self) -> Space[Any]: ...

    @property
    def skeleton(self) -> Skeleton: ...


@dataclass(frozen=True)
class InSpace:
    """A setting within a space, given by name. A user's own space is carried along for worker processes."""

    space_name: str
    own_space: Space[Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not SPACES.is_built_in(self.space_name):
            own = find_space(self.space_name) if self.own_space is None else self.own_space
            object.__setattr__(self, "own_space", own)
        elif self.own_space is not None and self.own_space is not SPACES[self.space_name]:
            taken = self.space_name
            raise SettingError(f"There is already a built-in search space {taken!r}. Give yours another name.")

    @functools.cached_property
    def space(self) -> Space[Any]:
        return SPACES[self.space_name] if self.own_space is None else self.own_space

    @functools.cached_property
    def space_key(self) -> str:
        """The space in the store's keys. A user's own space has another key when its code has changed."""
        return self.space_name if self.own_space is None else f"{self.space_name}@{self.own_space.fingerprint()}"

    def load(self) -> None:
        """Read all data now, for machines that do not have the files."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to worker processes."""
        try:
            pickle.dumps(self.own_space)
        except Exception as error:  # anything that pickling the user's space raises
            raise SettingError(
                f"Worker processes cannot import the space {self.space_name!r}: {error}. Define it at the top level of "
                "a module that they can import, or run everything in this process with workers=0 (--workers 0)."
            ) from error
        return vars(self)


def in_space(space: str | Space[Any]) -> dict[str, Any]:
    """Return the arguments of `InSpace` for a space given by name or as an object."""
    if isinstance(space, str):
        return {"space_name": space}
    found = find_space(space)
    return {"space_name": found.name, "own_space": found}
