"""Memory of the current process: keep freed blocks, and limit the total."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEEP = 512 * 2**20


def keep_freed_memory() -> bool:
    """Let glibc keep freed blocks of up to 512 MiB; returns False if the platform has no such switch.

    Feature maps are allocated and freed all the time, and the kernel must zero fresh pages, which takes up to two
    thirds of the time of a convolution on a batch of eight. This changes the whole process, so only the command and its
    workers call it.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, _KEEP) == 1 for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))


def can_limit_memory() -> bool:
    """Return True if `limit_memory` works on this platform."""
    return sys.platform.startswith("linux")


def limit_memory(beyond: int) -> None:
    """Limit this process to `beyond` bytes more than it has now; an allocation beyond that raises an error.

    The limit is on writable memory (RLIMIT_DATA). A limit on the address space would count libraries, files and what
    PyTorch reserves without using it; polling the resident memory would be too late for a sudden rise.
    """
    import resource  # not on Windows

    held = re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert held is not None
    limit = int(held[1]) * 1024 + beyond
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if highest < 0 else min(limit, highest), highest))
