"""`firstlight.space`: a search space by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names

if TYPE_CHECKING:
    from firstlight.spaces.base import Space


def space(name: str) -> Space[Any]:
    """Return the search space with this name.

    Args:
        name: A built-in space, one of an installed package, a registered one, or `module:name`.

    Returns:
        The space: it samples, mutates, parses and builds architectures.

    Raises:
        UnknownNameError: There is no such space.

    Example:
        >>> import random, firstlight
        >>> space = firstlight.space("nasbench201")
        >>> len(space)
        15625
    """
    check_names(space=name)
    from firstlight.spaces.finding import find_space

    return find_space(name)
