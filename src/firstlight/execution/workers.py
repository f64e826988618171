"""Jobs on local worker processes, which are isolated from each other.

An item that hangs, crashes its worker, exhausts memory or prints without end affects nothing but its own result: the
main process kills a worker whose time is up, the system denies memory beyond the limit, and output is discarded. The
worker is replaced. An item whose worker died is tried once more, because something else may have killed it. A worker
whose main process is gone exits.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from firstlight.core.errors import SettingError, WorkerError, is_out_of_memory
from firstlight.execution.executor import DIED, Lost, R, T
from firstlight.execution.memory import can_limit_memory, keep_freed_memory, limit_memory

# How many jobs a process keeps, the most recent ones; each may hold a data set
KEPT_JOBS = 4


class WorkerProcesses:
    """Runs jobs on local processes, which are started by spawn.

    Args:
        count: The number of processes.
        timeout: Seconds for each item, from the moment that a started worker receives it.
        max_memory: Bytes that a worker may take beyond what it has when it starts.
    """

    def __init__(self, count: int, timeout: float | None = None, max_memory: int | None = None) -> None:
        self.count = count
        self.timeout = timeout
        self.max_memory = check_memory_limit(max_memory)
        self._staying = False
        self._idle: list[_Worker] = []

    @property
    def at_a_time(self) -> int:
        """The number of processes."""
        return self.count

    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        queue = iter(items)
        workers: list[_Worker] = []
        any_started, failed_starts = False, 0
        try:
            for item in queue:
                workers.append(self._hire(job))
                any_started |= workers[-1].started
                workers[-1].assign(job, item)
                if len(workers) == self.count:
                    break
            while workers:
                for worker in _ready_or_overdue(workers):
                    try:
                        answer = worker.collect()
                    except WorkerError:
                        failed_starts += 1
                        if worker.started or not any_started or failed_starts > 3:  # else the job is at fault
                            raise
                        successor = self._replace(workers, worker, job)
                        successor.assign(job, worker.item, second_attempt=worker.second_attempt)
                        continue
                    if answer is None:
                        any_started, failed_starts = True, 0
                        continue
                    item, result = answer
                    if isinstance(result, Lost) and result.reason.startswith(DIED) and not worker.second_attempt:
                        self._replace(workers, worker, job).assign(job, item, second_attempt=True)
                        continue
                    following = next(queue, _NOTHING)
                    if following is _NOTHING:
                        workers.remove(worker)
                        self._dismiss(worker, alive=not isinstance(result, Lost))
                    elif isinstance(result, Lost):
                        self._replace(workers, worker, job).assign(job, following)
                    else:
                        worker.assign(job, following)
                    yield item, result
        finally:
            for worker in workers:  # their results are no longer needed
                worker.stop()

    @contextlib.contextmanager
    def staying(self) -> Iterator[None]:
        self._staying = True
        try:
            yield
        finally:
            self._staying = False
            while self._idle:
                self._idle.pop().stop()

    def _hire(self, job: Callable[[Any], Any]) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.process.is_alive():
                return worker
            worker.stop()
        return _Worker(job, self.timeout, self.max_memory)

    def _dismiss(self, worker: _Worker, *, alive: bool) -> None:
        if self._staying and alive:
            self._idle.append(worker)
        else:
            worker.stop()

    def _replace(self, workers: list[_Worker], worker: _Worker, job: Callable[[Any], Any]) -> _Worker:
        worker.stop()
        workers[workers.index(worker)] = successor = _Worker(job, self.timeout, self.max_memory)
        return successor


_NOTHING: Any = object()


def check_memory_limit(most: int | None) -> int | None:
    """Return the limit; raises `SettingError` if the platform cannot enforce one."""
    if most is not None and not can_limit_memory():
        raise SettingError(
            f"max_worker_memory is {most}, but {sys.platform} cannot limit the memory of a process; Linux can. Leave "
            "it out, and use fewer workers if memory is short."
        )
    return most


class _Worker:
    """A process with the pipe to it, the item it works on, and its deadline."""

    def __init__(self, job: Callable[[Any], Any], timeout: float | None, max_memory: int | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, [job], max_memory), daemon=True)
        with _interrupts_ignored():  # inherited: Ctrl-C is for the main process to handle
            self.process.start()
        theirs.close()
        self.started = False
        self.item: Any = None
        self.second_attempt = False
        self.deadline = math.inf
        self._timeout = math.inf if timeout is None else timeout
        self._jobs = deque([job], KEPT_JOBS)  # what the process keeps, in the same order: these need not be sent

    def assign(self, job: Callable[[Any], Any], item: Any, *, second_attempt: bool = False) -> None:
        self.item, self.second_attempt = item, second_attempt
        place = self._jobs.index(job) if job in self._jobs else None
        _use(self._jobs, place, job)
        if self.started:
            self.deadline = time.monotonic() + self._timeout
        # `collect` notices that a worker has died
        with contextlib.suppress(BrokenPipeError):
            self.connection.send((place, job if place is None else None, item))

    def collect(self) -> tuple[Any, Any | Lost] | None:
        """Return the item with its result, or why there is none; None if the worker has just started."""
        if not self.connection.poll():
            self.stop(patience=0)
            return self.item, Lost(f"took longer than {self._timeout:g} s")
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(timeout=5)
            if not self.started:
                raise WorkerError(
                    f"A worker process exited before it could start ({_ending(self.process)}). In a script, call "
                    'Firstlight under `if __name__ == "__main__":`, or pass workers=0.'
                ) from None
            twice = " twice" if self.second_attempt else ""
            return self.item, Lost(f"{DIED}{twice} ({_ending(self.process)})")
        if not self.started:
            self.started = True
            self.deadline = time.monotonic() + self._timeout
            return None
        self.deadline = math.inf
        if isinstance(answer, Raised):
            raise answer.error
        return self.item, answer

    def stop(self, patience: float = 0.5) -> None:
        self.connection.close()
        self.process.join(patience)
        for end in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                end()
                self.process.join(timeout=2)


def _ready_or_overdue(workers: list[_Worker]) -> list[_Worker]:
    """Wait for an answer or a deadline; returns the workers concerned."""
    left = min(worker.deadline for worker in workers) - time.monotonic()
    answering = wait([worker.connection for worker in workers], None if left == math.inf else max(0, left))
    now = time.monotonic()
    return [worker for worker in workers if worker.connection in answering or worker.deadline <= now]


def _ending(process: BaseProcess) -> str:
    code = process.exitcode
    if code is None or code >= 0:
        return f"exit code {code}"
    hint = ", as if the system had run out of memory" if -code == signal.SIGKILL else ""
    return f"signal {-code}{hint}"


def _use(jobs: deque[Callable[[Any], Any]], place: int | None, new_job: Any) -> Callable[[Any], Any]:
    """Return the job at that place, or the new one, and make it the most recent."""
    job: Callable[[Any], Any] = new_job
    if place is not None:
        job = jobs[place]
        del jobs[place]
    jobs.append(job)
    return job


def _serve(connection: Connection, first_job: list[Callable[[Any], Any]], max_memory: int | None) -> None:
    """Serve items until the pipe is closed. The first job is popped from a list, because arguments are never freed."""
    threading.Thread(target=_end_with_the_main_process, daemon=True).start()
    torch.set_num_threads(1)
    keep_freed_memory()
    print_nowhere()
    if max_memory is not None:
        limit_memory(max_memory)
    connection.send("started")
    jobs = deque([first_job.pop()], KEPT_JOBS)
    # a closed pipe means that the main process is done or gone
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            place, new_job, item = connection.recv()
            connection.send(attempt(_use(jobs, place, new_job), item))


def _end_with_the_main_process() -> None:
    """Exit with the main process, even during a computation that never ends."""
    main = multiprocessing.parent_process()
    assert main is not None
    main.join()
    os._exit(1)


def print_nowhere() -> None:
    """Discard output, also that of C code: workers would garble the display of the main process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


@dataclass(frozen=True)
class Raised:
    """In place of a result: the job raised an error, which the main process raises again."""

    error: Exception


def attempt(job: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of a job, or what happened instead, in a form that can be pickled."""
    try:
        return job(item)
    except Exception as error:
        if is_out_of_memory(error):
            return Lost(f"{type(error).__name__}: {error}".rstrip(": "), "out_of_memory")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # not every exception can be pickled; its text can
            return Raised(RuntimeError(f"{type(error).__name__}: {error}"))
        return Raised(error)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may change signal handlers
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
