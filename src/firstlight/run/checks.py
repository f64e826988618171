"""Checked before any work starts: a seed that can be kept, a device that exists, a skeleton that fits the data."""

from __future__ import annotations

from typing import Any

import torch

from firstlight.errors import SettingError
from firstlight.spaces import Skeleton, Space


def check_seed(seed: int) -> None:
    if not isinstance(seed, int) or abs(seed) >= 2**63:
        raise SettingError(f"The seed is {seed!r}; it must be a whole number of less than 64 bits.")


def check_device(device: str | None) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingError(f"The device {device!r} cannot be used here: {error}") from error


def skeleton_for(
    space: Space[Any], asked: dict[str, Any], source_name: str, input_shape: tuple[int, ...], classes: int
) -> Skeleton:
    """Built for the data: its shape, and its number of classes unless the user asks for another."""
    if asked.get("input_shape", input_shape) != input_shape:
        raise SettingError(
            f"{source_name!r} has inputs of {input_shape}; the skeleton asks for {asked['input_shape']}."
        )
    return space.skeleton(**({"input_shape": input_shape, "classes": classes} | asked))
