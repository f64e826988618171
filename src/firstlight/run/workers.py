"""Jobs on local worker processes. One that dies costs the item it had, and is replaced."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from firstlight.errors import WorkerError
from firstlight.run.executor import Lost, R, T
from firstlight.run.memory import keep_freed_memory


class WorkerProcesses:
    """Local processes, started afresh by spawn. One that dies costs the item it had, and is replaced."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._staying = False
        self._idle: list[_Worker] = []

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
                for worker in _ready(workers):
                    try:
                        answer = worker.collect()
                    except WorkerError:
                        failed_starts += 1
                        if not any_started or failed_starts > 3:
                            raise
                        _replace(workers, worker, job).assign(job, worker.item)
                        continue
                    if answer is None:
                        any_started, failed_starts = True, 0
                        continue
                    item, result = answer
                    following = next(queue, _NOTHING)
                    if following is _NOTHING:
                        workers.remove(worker)
                        self._dismiss(worker, alive=not isinstance(result, Lost))
                    elif isinstance(result, Lost):
                        _replace(workers, worker, job).assign(job, following)
                    else:
                        worker.assign(job, following)
                    yield item, result
        finally:
            for worker in workers:  # not at leisure, if the results of some are no longer asked for
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
        return _Worker(job)

    def _dismiss(self, worker: _Worker, *, alive: bool) -> None:
        if self._staying and alive:
            self._idle.append(worker)
        else:
            worker.stop()


def _replace(workers: list[_Worker], worker: _Worker, job: Callable[[Any], Any]) -> _Worker:
    worker.stop()
    workers[workers.index(worker)] = successor = _Worker(job)
    return successor


_NOTHING: Any = object()


class _Worker:
    """One process, the pipe to it, and the item it is working on."""

    def __init__(self, job: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, job), daemon=True)
        with _interrupts_ignored():  # inherited: Ctrl-C is for the main process to handle
            self.process.start()
        theirs.close()
        self.started = False
        self.item: Any = None
        self._jobs = [job]  # those it has been handed: each travels once

    def assign(self, job: Callable[[Any], Any], item: Any) -> None:
        self.item = item
        new_job = None
        if job not in self._jobs:
            self._jobs.append(job)
            new_job = job
        # a worker that has died is noticed when its result is collected
        with contextlib.suppress(BrokenPipeError):
            self.connection.send((self._jobs.index(job), new_job, item))

    def collect(self) -> tuple[Any, Any | Lost] | None:
        """The result that is waiting, or why there is none; None if the worker has only just started."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(timeout=5)
            if not self.started:
                raise WorkerError(
                    f"A worker process ended before it could start (exit code {self.process.exitcode}). In a script of "
                    'your own, call Firstlight under `if __name__ == "__main__":`, or pass workers=0.'
                ) from None
            return self.item, Lost(f"the worker process died (exit code {self.process.exitcode})")
        if not self.started:
            self.started = True
            return None
        if isinstance(answer, _Raised):
            raise answer.error
        return self.item, answer

    def stop(self) -> None:
        self.connection.close()
        self.process.join(timeout=0.5)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(timeout=5)


def _ready(workers: list[_Worker]) -> list[_Worker]:
    by_connection = {worker.connection: worker for worker in workers}
    return [by_connection[connection] for connection in wait(list(by_connection)) if isinstance(connection, Connection)]


def _serve(connection: Connection, job: Callable[[Any], Any]) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    connection.send("started")
    jobs = [job]
    # a closed pipe means that the main process needs no more, or is gone
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            number, new_job, item = connection.recv()
            if new_job is not None:
                jobs.append(new_job)
            connection.send(_outcome(jobs[number], item))


@dataclass(frozen=True)
class _Raised:
    """In place of a result: the job raised, and so will the main process, as it would have without workers."""

    error: Exception


def _outcome(job: Callable[[Any], Any], item: Any) -> Any:
    try:
        return job(item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # not every exception survives the journey; its text does
            return _Raised(RuntimeError(f"{type(error).__name__}: {error}"))
        return _Raised(error)


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
