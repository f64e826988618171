"""What every setting begins with: a search space, which may be one of the user's own."""

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
    """The space, and what is around the searched part of every network."""

    @property
    def space(self) -> Space[Any]: ...

    @property
    def skeleton(self) -> Skeleton: ...


@dataclass(frozen=True)
class InSpace:
    """The space by its name. One of the user's own, which worker processes must be handed, is carried along."""

    space_name: str
    own_space: Space[Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not SPACES.is_built_in(self.space_name):
            own = find_space(self.space_name) if self.own_space is None else self.own_space
            object.__setattr__(self, "own_space", own)
        elif self.own_space is not None and self.own_space is not SPACES[self.space_name]:
            raise SettingError(f"There is a search space {self.space_name!r} already. Give yours another name.")

    @functools.cached_property
    def space(self) -> Space[Any]:
        return SPACES[self.space_name] if self.own_space is None else self.own_space

    @functools.cached_property
    def space_key(self) -> str:
        """What the store knows the space by. One's own is another one when its code has changed."""
        return self.space_name if self.own_space is None else f"{self.space_name}@{self.own_space.fingerprint()}"

    def load(self) -> None:
        """Read now all data that networks are shown, for machines that do not have the files."""

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to worker processes."""
        try:
            pickle.dumps(self.own_space)
        except Exception as error:  # whatever the user's space consists of
            raise SettingError(
                f"Worker processes cannot find the space {self.space_name!r} again: {error}. Make it at the top level "
                "of a module that they can import, or stay in this process with workers=0 (--workers 0)."
            ) from error
        return vars(self)


def in_space(space: str | Space[Any]) -> dict[str, Any]:
    """The arguments for a space as users name it: by its name, or as the object."""
    return {"space_name": space} if isinstance(space, str) else {"space_name": space.name, "own_space": space}
