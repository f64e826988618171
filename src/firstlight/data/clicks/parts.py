"""The split of rows into training, validation and test, by row number and seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.core.seeds import derive
from firstlight.data.samples import Array

PARTS = ("train", "validation", "test")
PUBLISHED_SPLIT = (0.8, 0.1, 0.1)


def check_split(split: Sequence[float]) -> None:
    good = len(split) == 3 and all(math.isfinite(share) and share >= 0 for share in split)
    if not good or split[0] <= 0 or abs(math.fsum(split) - 1) > 1e-6:
        raise SettingError(
            f"The split is {', '.join(map(str, split))}; expected the shares of train, validation and test, such as "
            "0.8,0.1,0.1. They must add up to 1, and the share of train must be above 0."
        )


def scattered(numbers: Array, seed: int, purpose: str) -> Array:
    """Return 64 pseudorandom bits for each integer (the mixing steps of SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(derive(seed, purpose))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = mixed ^ (mixed >> np.uint64(31))
    return found


def part_of(first: int, count: int, split: Sequence[float], seed: int) -> Array:
    """Return the index in PARTS of each of `count` rows, starting with row `first`."""
    drawn = (scattered(np.arange(first, first + count), seed, "parts of clicks") >> np.uint64(11)) / 2.0**53  # below 1
    return np.minimum(np.searchsorted(np.cumsum(split)[:2], drawn, side="right"), 2).astype(np.uint8)
