"""The faults that strike a search, each as it would happen."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.chaos.disturbed import Fault, Process

DISK = 2 * 1024**2
FAKE_CLOCK = "libfaketime.so.1"


def send(number: signal.Signals, *, quick: bool = False) -> Fault:
    def strike(process: Process, rng: random.Random, folder: Path) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    return Fault(f"{number.name} of the search", strike, quick=quick)


def kill_worker(process: Process, rng: random.Random, folder: Path) -> None:
    for worker in _workers(process, rng)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def kill_all_workers(process: Process, rng: random.Random, folder: Path) -> None:
    for worker in _workers(process, rng):
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def pause_worker(process: Process, rng: random.Random, folder: Path) -> None:
    for worker in _workers(process, rng)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGSTOP)
            time.sleep(rng.uniform(0.1, 1))
            os.kill(worker, signal.SIGCONT)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Mapping[str, str]]:
    """A disk of two megabytes at the folder's place."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    try:
        yield {}
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill_disk(process: Process, rng: random.Random, folder: Path) -> None:
    """Until the search has ended; then there is room again."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        while process.poll() is None:
            if shutil.disk_usage(folder).free:
                with contextlib.suppress(OSError):  # the search may have been faster
                    file.write(bytes(4096))
            else:
                time.sleep(0.01)
    filler.unlink()


@contextlib.contextmanager
def changeable_clock(folder: Path) -> Iterator[Mapping[str, str]]:
    """The clock of the day, as the search sees it, is what a file says."""
    folder.mkdir(parents=True)
    clock = folder / "clock"
    clock.write_text("+0")
    yield {
        "LD_PRELOAD": str(_fake_clock()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def turn_clock_back(process: Process, rng: random.Random, folder: Path) -> None:
    (folder / "clock").write_text(f"-{rng.randrange(1, 400)}d")


class RayNodes:
    """A cluster of two nodes on this machine, one of which can be lost."""

    @contextlib.contextmanager
    def around(self, folder: Path) -> Iterator[Mapping[str, str]]:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self._leaving = self._cluster.add_node(num_cpus=1)
        try:
            yield {"RAY_ADDRESS": self._cluster.address}
        finally:
            self._cluster.shutdown()

    def kill_one(self, process: Process, rng: random.Random, folder: Path) -> None:
        self._cluster.remove_node(self._leaving, allow_graceful=False)


NODES = RayNodes()
FAULTS = (
    send(signal.SIGKILL, quick=True),
    send(signal.SIGTERM),
    send(signal.SIGINT),
    Fault("SIGKILL of a worker", kill_worker, quick=True),
    Fault("SIGKILL of all workers", kill_all_workers),
    Fault("SIGSTOP and SIGCONT of a worker", pause_worker),
    Fault("full disk", fill_disk, small_disk, quick=True),
    Fault("clock going backwards", turn_clock_back, changeable_clock),
    Fault("SIGKILL of a Ray node", NODES.kill_one, NODES.around, ("--executor", "ray", "--address", "auto")),
)


def why_not(fault: Fault) -> str | None:
    """Why a fault cannot be had on this machine, if so."""
    if not os.path.isdir("/proc/self"):
        return "workers are found in /proc, which is not there"
    if fault.around is small_disk and (os.geteuid() != 0 or shutil.which("mount") is None):
        return "a small disk can be mounted by root only"
    if fault.strike == NODES.kill_one and importlib.util.find_spec("ray") is None:
        return "Ray is not installed: pip install 'firstlight[ray]'"
    if fault.around is changeable_clock and _fake_clock() is None:
        return f"{FAKE_CLOCK} is not installed (Debian: libfaketime)"
    return None


def _fake_clock() -> Path | None:
    return next((path for path in Path("/usr/lib").glob(f"*/faketime/{FAKE_CLOCK}")), None)


def _workers(process: Process, rng: random.Random) -> list[int]:
    """The search's worker processes, in any order; none before it has started any, and after its end."""
    workers = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.append(int(child))
    return rng.sample(workers, len(workers))
