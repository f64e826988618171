"""What a Ray task does, in a process of the cluster.

It does the work itself, unless networks have limits: then a local worker process stands between, as on a single
machine, which can be ended and replaced while Ray's own process goes on.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from firstlight.run.memory import keep_freed_memory
from firstlight.run.workers import WorkerProcesses, attempt, print_nowhere

if TYPE_CHECKING:
    from firstlight.run.shipping import Parcel

# Jobs that a process keeps, those used last: each may hold a data set
KEPT_JOBS = 4


@dataclass(frozen=True)
class Limits:
    """Of each network: seconds, and bytes beyond what a worker process has when it starts."""

    timeout: float | None = None
    max_memory: int | None = None


def perform(job: list[Any], item: Any, limits: Limits | None) -> Any:
    """In a list, the job is not fetched anew for each task."""
    with _printing_nowhere():  # not into Ray's logs, which would fill the disk
        return attempt(lambda item: _result(job[0], item, limits), item)


def _result(reference: Any, item: Any, limits: Limits | None) -> Any:
    job = _fetched(reference, unpacked=limits is None)
    if limits is None:
        return job(item)
    ((_, result),) = _worker(limits).map(job, [item])
    return result


@functools.lru_cache(maxsize=KEPT_JOBS)
def _fetched(reference: Any, *, unpacked: bool) -> Callable[[Any], Any]:
    import ray

    parcel: Parcel = ray.get(reference)
    if not unpacked:
        return Unpacking(parcel)
    torch.set_num_threads(1)
    keep_freed_memory()
    return parcel.unpack()


@functools.lru_cache(maxsize=1)
def _worker(limits: Limits) -> WorkerProcesses:
    """It stays from task to task, and ends with this process."""
    worker = WorkerProcesses(1, limits.timeout, limits.max_memory)
    contextlib.ExitStack().enter_context(worker.staying())
    return worker


@contextlib.contextmanager
def _printing_nowhere() -> Iterator[None]:
    """For a while only: the process is Ray's, and its next task may be somebody else's."""
    kept = [os.dup(stream) for stream in (1, 2)]
    print_nowhere()
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, before in enumerate(kept, start=1):
            os.dup2(before, stream)
            os.close(before)


class Unpacking:
    """A job that is unpacked by the process that gets the first item, which does not keep the parcel."""

    def __init__(self, parcel: Parcel) -> None:
        self._parcel: Parcel | None = parcel
        self._job: Callable[[Any], Any] | None = None

    def __call__(self, item: Any) -> Any:
        if self._job is None:
            assert self._parcel is not None
            self._job, self._parcel = self._parcel.unpack(), None
        return self._job(item)
