"""What a Ray task does in a process of the cluster.

It runs the job itself, unless networks have limits. Then a local worker process runs it, which can be killed and
replaced while Ray's own process goes on.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from firstlight.execution.memory import keep_freed_memory
from firstlight.execution.workers import KEPT_JOBS, WorkerProcesses, attempt, print_nowhere

if TYPE_CHECKING:
    from firstlight.execution.shipping import Parcel

# Keeps the local worker process from task to task
_staying = contextlib.ExitStack()


@dataclass(frozen=True)
class Limits:
    """Limits on each network.

    Attributes:
        timeout: Seconds.
        max_memory: Bytes beyond what a worker process has when it starts.
    """

    timeout: float | None = None
    max_memory: int | None = None


def perform(job: list[Any], item: Any, limits: Limits | None) -> Any:
    """Run the job on an item. The job is in a list, or else Ray would fetch it anew for each task."""
    with _printing_nowhere():  # Ray's logs would fill the disk
        # outside of the attempt: a lost object is not an error of the job, and the task is repeated
        fetched = _fetched(job[0])
        return attempt(lambda item: _result(fetched, item, limits), item)


def _result(job: Unpacking, item: Any, limits: Limits | None) -> Any:
    if limits is None:
        return job(item)
    ((_, result),) = _worker(limits).map(job, [item])
    return result


@functools.lru_cache(maxsize=KEPT_JOBS)
def _fetched(reference: Any) -> Unpacking:
    import ray

    return Unpacking(reference.hex(), ray.get(reference))


@functools.lru_cache(maxsize=1)
def _worker(limits: Limits) -> WorkerProcesses:
    """Return the local worker, whose process stays from task to task until the limits change."""
    _staying.close()
    worker = WorkerProcesses(1, limits.timeout, limits.max_memory)
    _staying.enter_context(worker.staying())
    return worker


@contextlib.contextmanager
def _printing_nowhere() -> Iterator[None]:
    """Discard output for a while only: the process is Ray's, and its next task may be another user's."""
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


@dataclass
class Unpacking:
    """A job that is unpacked with the first item, by the process that runs it; the parcel is then dropped.

    It is identified by its name in the object store, so that it is the same job when it is fetched again.
    """

    name: str
    parcel: Parcel | None = field(compare=False, repr=False)
    job: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    def __call__(self, item: Any) -> Any:
        if self.job is None:
            assert self.parcel is not None
            torch.set_num_threads(1)
            keep_freed_memory()
            self.job, self.parcel = self.parcel.unpack(), None
        return self.job(item)
