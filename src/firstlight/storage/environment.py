"""The environment: versions and processor, on which the last digits of a result may depend."""

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
    """What a result was computed with.

    Attributes:
        firstlight: The version of Firstlight.
        torch: The version of PyTorch.
        python: The version of Python.
        cpu: The architecture of the processor, and the widest instruction set that PyTorch uses on it.
    """

    firstlight: str
    torch: str
    python: str
    cpu: str

    def may_differ(self, other: Environment | None) -> bool:
        """Return True if the same request may give other digits. (Keys contain the revisions of Firstlight's code.)"""
        return other is None or (_minor(self.torch), self.cpu) != (_minor(other.torch), other.cpu)

    def __str__(self) -> str:
        return f"PyTorch {self.torch} on {self.cpu}"


@functools.cache
def this_environment() -> Environment:
    """Return the environment of this process."""
    cpu = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    return Environment(__version__, str(torch.__version__), platform.python_version(), cpu)


def versions() -> dict[str, str]:
    """Return versions by name, for a report; nothing that identifies the machine."""
    here = asdict(this_environment())
    machine = f"{platform.system()}, {os.cpu_count()} CPUs"
    return {**here, "numpy": version("numpy"), "scipy": version("scipy"), "machine": machine}


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])
