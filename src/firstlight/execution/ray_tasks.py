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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from firstlight.execution.memory import keep_freed_memory
from firstlight.execution.workers import KEPT_JOBS, WorkerProcesses, attempt, print_nowhere

if TYPE_CHECKING:
    from firstlight.execution.shipping import Parcel

# Keeps the worker process of this one from task to task
_staying = contextlib.ExitStack()


@dataclass(frozen=True)
class Limits:
    """Of each network: seconds, and bytes beyond what a worker process has when it starts."""

    timeout: float | None = None
    max_memory: int | None = None


def perform(job: list[Any], item: Any, limits: Limits | None) -> Any:
    """In a list, the job is not fetched anew for each task."""
    with _printing_nowhere():  # not into Ray's logs, which would fill the disk
        # not as part of the attempt: an object that is lost is no error of the job, and worth another task
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
    """Its process stays from task to task, until there are other limits, and ends with this one."""
    _staying.close()
    worker = WorkerProcesses(1, limits.timeout, limits.max_memory)
    _staying.enter_context(worker.staying())
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


@dataclass
class Unpacking:
    """A job that is unpacked by the process that works on the first item, which does not keep the parcel.

    It is known by its name in the object store: fetched once more, it is the same job.
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
