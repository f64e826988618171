"""How many threads of the processor a training uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from firstlight.core.errors import SettingError

# Threads pay off from about this many multiply-accumulates of a batch each. Below, they mostly wait for each other, and
# on a busy machine they wait long
WORK_OF_A_THREAD = 2_000_000_000


def usual_threads(macs: int, batch_size: int) -> int:
    """Return how many threads suit a network: one for each two billion multiply-accumulates of a batch.

    Args:
        macs: The multiply-accumulates of one sample.
        batch_size: The samples of a batch.

    Returns:
        At least 1, and at most what PyTorch uses by itself.

    >>> usual_threads(100_000, 128)
    1
    """
    return max(1, min(torch.get_num_threads(), macs * batch_size // WORK_OF_A_THREAD))


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Let PyTorch use this number of threads within the context.

    Raises:
        SettingError: If the number is less than 1.
    """
    if count < 1:
        raise SettingError(f"threads is {count}; it must be 1 or more.")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
