"""Checks before any work starts: a valid seed, an available device, a skeleton that fits the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from firstlight.core.errors import SettingError
from firstlight.data.sources import KINDS, DataKind, data_kind
from firstlight.spaces import SPACES
from firstlight.spaces.base import Skeleton, Space


def check_seed(seed: int) -> None:
    """Raise `SettingError` unless the seed is an integer that the store can hold."""
    if not isinstance(seed, int) or abs(seed) >= 2**63:
        raise SettingError(f"The seed is {seed!r}; it must be an integer of less than 64 bits.")


def check_device(device: str | None) -> None:
    """Raise `SettingError` unless PyTorch can use the device on this machine."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingError(f"The device {device!r} cannot be used on this machine: {error}") from error


def skeleton_for(
    space: Space[Any],
    asked: Mapping[str, Any],
    source_name: str,
    input_shape: tuple[int, ...],
    classes: int,
    known: Mapping[str, Any] | None = None,
) -> Skeleton:
    """Return the skeleton for networks that take given data.

    Args:
        space: The space.
        asked: Settings of the skeleton that the user asks for.
        source_name: Name of the source of the data.
        input_shape: Shape of one input.
        classes: Number of classes of the data, used unless the user asks for another.
        known: Further settings that follow from the data.

    Raises:
        SettingError: If the networks take another kind of data, or the settings contradict the data.
    """
    kind = data_kind(source_name)
    if kind is not None and kind.name != space.data_kind:
        raise _other_kind(space, source_name, kind)
    fixed = {"input_shape": input_shape, **(known or {})}
    for name, value in space.read_skeleton(asked).items():
        if fixed.get(name, value) != value:
            raise SettingError(
                f"{source_name!r} has {'inputs' if name == 'input_shape' else name} of {fixed[name]}; the skeleton "
                f"asks for {value}. Leave out this setting."
            )
    return space.skeleton(**{"classes": classes, **asked, **fixed})


def _other_kind(space: Space[Any], source_name: str, kind: DataKind) -> SettingError:
    able = [name for name, other in SPACES.items() if other.data_kind == kind.name]
    fitting = KINDS.get(space.data_kind)
    forms = "synthetic" if fitting is None else f"{', '.join(fitting.forms)} or synthetic"
    return SettingError(
        f"Networks of {space.name!r} take {space.data_kind}; {source_name!r} holds {kind.name}. Use data such as "
        f"{forms}, or a space whose networks take {kind.name}: {', '.join(able) or 'there is none'}."
    )
