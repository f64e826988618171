"""Random generators that depend on a seed and their purpose, never on global state or the order of work."""

from __future__ import annotations

import hashlib
import numbers
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    import torch


def derive(seed: int, *purpose: str) -> int:
    """Return a 63-bit seed that is a pure function of `seed` and the words of its `purpose`."""
    text = "\x1f".join((str(seed), *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def torch_generator(seed: int, *purpose: str) -> torch.Generator:
    """Return a generator on the CPU, whose numbers are the same whatever device they are moved to afterwards."""
    import torch  # slow to import, and not needed to derive seeds

    return torch.Generator().manual_seed(derive(seed, *purpose))


def python_generator(seed: int, *purpose: str) -> random.Random:
    """Return a generator of Python's own for this purpose."""
    return random.Random(derive(seed, *purpose))


def as_generator(given: Any) -> random.Random:
    """Return a generator of Python's own: the one given, one drawn by NumPy's, or one with a seed.

    Raises:
        SettingError: If it is none of these.
    """
    if isinstance(given, random.Random):
        return given
    if isinstance(given, numbers.Integral) and given is not True and given is not False:
        return random.Random(int(given))
    draw = getattr(given, "integers", None)
    if draw is None:
        raise SettingError(
            f"rng is {given!r}. Give a random.Random, a generator of NumPy such as numpy.random.default_rng(0), or a "
            "seed."
        )
    return random.Random(int(draw(2**63)))


@contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Seed PyTorch's global generators for the purpose, and restore their state afterwards."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, *purpose, "weights"))
        yield
