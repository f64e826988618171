"""What computes: versions and processor, on which the last digits of a result may depend."""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version

import torch

from firstlight._version import __version__


@dataclass(frozen=True)
class Environment:
    firstlight: str
    torch: str
    python: str
    cpu: str  # the architecture, and the widest instructions that PyTorch uses on it

    def may_differ(self, other: Environment | None) -> bool:
        """Whether numbers may, of the same request. What changes with Firstlight has a revision in every key."""
        return other is None or (_minor(self.torch), self.cpu) != (_minor(other.torch), other.cpu)

    def __str__(self) -> str:
        return f"PyTorch {self.torch} on {self.cpu}"


@functools.cache
def this_environment() -> Environment:
    cpu = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    return Environment(__version__, str(torch.__version__), platform.python_version(), cpu)


def versions() -> dict[str, str]:
    """By name, in words for a report; nothing that tells whose machine it is."""
    here = asdict(this_environment())
    machine = f"{platform.system()}, {os.cpu_count()} CPUs"
    return {**here, "numpy": version("numpy"), "scipy": version("scipy"), "machine": machine}


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])
