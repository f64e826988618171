"""Where jobs run: in this process, on local worker processes, or on a Ray cluster.

An executor maps a job over items and yields results as they arrive, in any order. Jobs are pure functions, so where
they run never changes what they return. Each job runs on one PyTorch thread for the same reason: the order in which
several threads add numbers up would show in the last digits.
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

LOCAL, RAY = "local", "ray"
T = TypeVar("T")
R = TypeVar("R")


# How the reason begins if a worker ended without a word
DIED = "the worker process died"


@dataclass(frozen=True)
class Lost:
    """In place of a result: the worker died while it had this item, took too long, or ran out of memory."""

    reason: str
    status: Literal["failed", "out_of_memory"] = "failed"


class Executor(Protocol):
    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        """Results as they arrive. `items` is read lazily: only as many are taken as can be worked on."""
        ...

    def staying(self) -> contextlib.AbstractContextManager[None]:
        """Within it, whatever `map` has started stays for the next call of it: for searches, which call it often."""
        ...


def make_executor(
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    address: str | None = None,
    tell: Callable[[str], None] = lambda words: None,
    *,
    timeout: float | None = None,
    max_worker_memory: float | str | None = None,
) -> Executor:
    """Of this machine, `workers` processes, by default one for each core; 0 means in this process.

    An item that takes a worker longer than `timeout` seconds, or more than `max_worker_memory` bytes (as a number, or
    such as "4G") beyond what a worker has when it starts, is given up.

    Or "ray", with settings as in "ray:cpus=2:memory=4G", on the cluster at an `address` or on a local one; `tell` hears
    how large it is. An executor of one's own is taken as it is.
    """
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise SettingError(f"The number of workers is {workers!r}; it must be 0 (in this process) or more.")
    if not isinstance(executor, str):
        if workers is not None:
            raise SettingError(
                f"An executor of your own does not take a number of workers; leave out workers={workers}."
            )
        refuse_isolation("the executor is one of your own, which keeps its own limits", timeout, max_worker_memory)
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
            tell=tell,
        )
    if address is not None or executor != LOCAL:
        given = executor if address is None else f"address {address}"
        raise SettingError(
            f"The executor {LOCAL!r} takes no settings and no address, but there is {given!r}. Try {RAY!r}."
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
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and 0 < timeout < math.inf):
        raise SettingError(f"The timeout is {timeout!r}; it must be a number of seconds above 0, such as 60.")
    return timeout


def refuse_isolation(reason: str, timeout: float | None, max_worker_memory: float | str | None) -> None:
    """What does not run on worker processes can be neither stopped nor kept from taking memory."""
    given = {"timeout": timeout, "max_worker_memory": max_worker_memory}
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                f"{name} is {value!r}, which holds for worker processes, but {reason}. Leave {name} out, or score "
                "networks of a space on local workers (--workers 1, or more)."
            )


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class InProcess:
    """One item after the other, here."""

    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        for item in items:
            with one_thread():
                result = job(item)
            yield item, result

    def staying(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute on a single PyTorch thread, then go back to as many as before."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
