"""Whether memory stays flat over many networks: that of this process after a tenth of them, and after all."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.rows import Row

from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import ScoreJob, Setting
from firstlight.spaces import SPACES

NETWORKS = 10_000
SKELETON = (("cells", 1), ("channels", 4), ("input_shape", (3, 8, 8)))


def resident() -> float:
    """MiB of memory that this process holds now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("The system does not say how much memory a process holds.")


def rows(networks: int, count: int = NETWORKS) -> list[Row]:
    job = ScoreJob(Setting("nasbench201", skeleton_settings=SKELETON), tuple(parse_requests("dextr")))
    rng = random.Random(0)
    marks = []
    for number in range(1, count + 1):
        job((str(SPACES["nasbench201"].sample(rng)), ("dextr",)))
        if number in (count // 10, count):
            marks.append(resident())
    part = f"Memory over {count:,} networks"
    return [Row(part, "after a tenth", marks[0], "MiB"), Row(part, "after all", marks[-1], "MiB", marks[0])]
