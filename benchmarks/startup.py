"""How long a command takes to report a wrong name, and to yield a first score: CPU seconds of the whole process."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.rows import Row

ROUNDS = 3
COMMANDS = {
    "a wrong name is reported": ("search", "nasbench210"),
    "a first score": ("search", "nasbench201", "--samples", "1", "--workers", "0"),
}


def seconds(arguments: tuple[str, ...]) -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run([sys.executable, "-m", "firstlight", *arguments], capture_output=True, check=False)
    return used() - before


def rows(networks: int) -> list[Row]:
    return [
        Row("Start-up", what, min(seconds(arguments) for _ in range(ROUNDS)), "CPU s")
        for what, arguments in COMMANDS.items()
    ]
