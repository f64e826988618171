"""Memory of a process of our own: not handed back only to ask for it again, and no more of it than it may have."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

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


def can_limit_memory() -> bool:
    return sys.platform.startswith("linux")


def limit_memory(beyond: int) -> None:
    """Let this process have so many bytes more than it has now; whoever asks for more gets an error that can be caught.

    The limit is on what a process writes to (RLIMIT_DATA). That of its addresses would count libraries and files, and
    what PyTorch reserves without using it; and a watch of its resident memory would come too late for a sudden rise.
    """
    import resource  # not on Windows

    held = re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert held is not None
    limit = int(held[1]) * 1024 + beyond
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if highest < 0 else min(limit, highest), highest))
