"""Where jobs run: in this process, on local worker processes, or on a Ray cluster.

An executor maps a job over items and yields results as they arrive, in any order. Jobs are pure functions, so the
result does not depend on where they run. Each job runs on one PyTorch thread for the same reason: the order in which
several threads sum numbers would change the last digits.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import torch

from firstlight.core.amounts import parse_amount
from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.events import Callback, ignore

LOCAL, RAY = "local", "ray"
T = TypeVar("T")
R = TypeVar("R")

# The reason of `Lost` starts with this if a worker ended without an answer
DIED = "the worker process died"


@dataclass(frozen=True)
class Lost:
    """In place of a result: the worker died, took too long, or ran out of memory.

    Attributes:
        reason: What happened.
        status: The status of the scores that were to be computed.
    """

    reason: str
    status: Literal["failed", "out_of_memory"] = "failed"


class Executor(Protocol):
    """Where jobs run. Any object with these two methods is one.

    It may say with an attribute `at_a_time` how many items it works on at the same time; see `items_at_a_time`.
    """

    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        """Yield each item with its result as it arrives, in any order.

        Args:
            job: A pure function of an item.
            items: The items; read lazily, as workers become free.
        """
        ...

    def staying(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which workers that `map` has started stay for the next call, as a search makes many."""
        ...


def items_at_a_time(executor: Executor) -> int:
    """Return how many items an executor works on at the same time; 1 if it does not say."""
    return max(1, int(getattr(executor, "at_a_time", 1)))


def make_executor(
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    address: str | None = None,
    callback: Callback = ignore,
    *,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
) -> Executor:
    """Create an executor.

    Args:
        workers: The number of worker processes; 0 runs in this process. Default: one for each core.
        executor: "local", or "ray" with settings such as "ray:cpus=2:memory=4G", or an executor object, which is
            returned as it is.
        address: The address of a Ray cluster. Default: Ray is started on this machine.
        callback: Called with a "message" event when the size of the Ray cluster changes.
        timeout: Seconds after which a worker gives up an item.
        max_worker_memory: Memory that an item may take beyond what a worker has when it starts, in bytes or as in "4G".

    Raises:
        SettingError: If the settings make no sense, or contradict each other.
    """
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise SettingError(f"workers is {workers!r}; it must be 0 (in this process) or more.")
    if not isinstance(executor, str):
        if workers is not None:
            raise SettingError(f"workers is {workers}, but an executor object has its own workers. Leave out workers.")
        refuse_isolation("an executor object has its own limits", timeout, max_worker_memory)
        return executor
    name = executor.split(":")[0]
    if name not in (LOCAL, RAY):
        raise UnknownNameError("executor", name, [LOCAL, RAY])
    if name == RAY:
        from firstlight.execution.ray import RayCluster, TaskNeeds

        return RayCluster(
            address,
            workers=workers,
            needs=TaskNeeds.parse(executor),
            timeout=timeout,
            max_memory=max_worker_memory,
            callback=callback,
        )
    if address is not None or executor != LOCAL:
        given = executor if address is None else f"address {address}"
        raise SettingError(
            f"The executor {LOCAL!r} takes neither settings nor an address; got {given!r}. Did you mean {RAY!r}?"
        )
    count = available_cores() if workers is None else workers
    if not count:
        refuse_isolation("workers is 0: networks are scored in this process", timeout, max_worker_memory)
        return InProcess()
    from firstlight.execution.workers import WorkerProcesses

    return WorkerProcesses(
        count, check_timeout(timeout), parse_amount(max_worker_memory, unit="B", name="max_worker_memory")
    )


def check_timeout(timeout: float | None) -> float | None:
    """Return the timeout; raises `SettingError` unless it is None or a positive number of seconds."""
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and 0 < timeout < math.inf):
        raise SettingError(f"timeout is {timeout!r}; it must be a number of seconds above 0, such as 60.")
    return timeout


def refuse_isolation(reason: str, timeout: float | None, max_worker_memory: float | str | None) -> None:
    """Raise `SettingError` if there are limits: only worker processes can be stopped or limited in memory."""
    given = {"timeout": timeout, "max_worker_memory": max_worker_memory}
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                f"{name} is {value!r}, which applies to worker processes, but {reason}. Leave {name} out, or score "
                "networks of a space on local workers (--workers 1 or more)."
            )


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class InProcess:
    """Runs jobs in this process, one item after the other."""

    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        for item in items:
            with one_thread():
                result = job(item)
            yield item, result

    def staying(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Use a single PyTorch thread; restores the number of threads afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
