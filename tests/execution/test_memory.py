"""The allocator's switch, and memory that stays flat."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreJob, Setting


def test_the_switch_is_there_on_linux_only() -> None:
    """In a process of its own, because it changes the whole process."""
    code = "import sys; from firstlight.execution.memory import keep_freed_memory; sys.exit(keep_freed_memory())"
    glibc = sys.platform.startswith("linux") and os.confstr("CS_GNU_LIBC_VERSION") is not None
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == int(glibc)


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_memory_stays_flat_over_many_networks() -> None:
    setting = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 4)))
    job = ScoreJob(setting, (ProxyRequest.parse("dextr"),))
    texts = [str(architecture) for _, architecture in zip(range(300), job.setting.space, strict=False)]
    for text in texts[:60]:
        job((text, ("dextr",)))
    gc.collect()
    before = resident_mebibytes()
    for text in texts[60:]:
        job((text, ("dextr",)))
    gc.collect()
    assert resident_mebibytes() - before < 20
