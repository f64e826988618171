"""Keeping the allocator from handing memory back to the system only to ask for it again a millisecond later."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEEP = 512 * 2**20


def keep_freed_memory() -> bool:
    """Let glibc reuse freed blocks of up to 512 MiB; returns whether the platform has that switch.

    Feature maps are allocated and freed all the time, and fresh pages must be zeroed by the kernel: up to two thirds of
    the time of a convolution on a batch of eight. This changes the whole process, so only our own processes call it.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, _KEEP) == 1 for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))
