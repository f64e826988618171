"""Random streams that depend on what they are for, never on global state or on the order of work."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive(seed: int, *purpose: str) -> int:
    """A 63-bit seed that is a pure function of `seed` and the words of its `purpose`."""
    text = "\x1f".join((str(seed), *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def torch_generator(seed: int, *purpose: str) -> torch.Generator:
    """A CPU generator: the same numbers whatever device they are moved to afterwards."""
    return torch.Generator().manual_seed(derive(seed, *purpose))


def python_generator(seed: int, *purpose: str) -> random.Random:
    return random.Random(derive(seed, *purpose))


@contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Weights that are drawn here depend on the seed and its purpose alone; nobody else's random numbers change."""
    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, *purpose, "weights"))
        yield
