"""With what a result was computed: the versions that may change it, and the kind of machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from firstlight._version import __version__

_PACKAGES = ("torch", "numpy", "scipy")


def versions() -> dict[str, str]:
    """By name, in words for a report; nothing that tells whose machine it is."""
    return {
        "firstlight": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    }
