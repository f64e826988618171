"""Random generators that depend on a seed and their purpose, never on global state or the order of work."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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


@contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Seed PyTorch's global generators for the purpose, and restore their state afterwards."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, *purpose, "weights"))
        yield
