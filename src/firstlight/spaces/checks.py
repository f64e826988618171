"""Checked before any work starts: a seed that can be kept, a device that exists, a skeleton that fits the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Skeleton, Space


def check_seed(seed: int) -> None:
    if not isinstance(seed, int) or abs(seed) >= 2**63:
        raise SettingError(f"The seed is {seed!r}; it must be a whole number of less than 64 bits.")


def check_device(device: str | None) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingError(f"The device {device!r} cannot be used here: {error}") from error


def skeleton_for(
    space: Space[Any],
    asked: Mapping[str, Any],
    source_name: str,
    input_shape: tuple[int, ...],
    classes: int,
    known: Mapping[str, Any] | None = None,
) -> Skeleton:
    """Built for the data: its shape and what else is `known` of it, and its classes unless the user asks for others."""
    fixed = {"input_shape": input_shape, **(known or {})}
    if (space.shown == "clicks") != ("categories" in fixed) and (known or len(input_shape) != 1):
        if known:
            able = ", ".join(name for name, other in SPACES.items() if other.shown == "clicks")
            raise SettingError(
                f"{source_name!r} holds clicks, which networks of {space.name!r} are not for; take {able}."
            )
        raise SettingError(
            f"{source_name!r} has inputs of {input_shape}, but networks of {space.name!r} are for clicks: write "
            "criteo:FILE, avazu:FILE, kdd:FILE or clicks:FILE (see `firstlight data`), or synthetic."
        )
    for name, value in space.read_skeleton(asked).items():
        if fixed.get(name, value) != value:
            raise SettingError(
                f"{source_name!r} has {'inputs' if name == 'input_shape' else name} of {fixed[name]}; the skeleton "
                f"asks for {value}."
            )
    return space.skeleton(**{"classes": classes, **asked, **fixed})
