"""Jobs on a Ray cluster: an existing one, or a local one that is started for the work.

Each item is a task. Twice as many tasks are submitted as can run at the same time. The job is sent once: it is put into
the object store with all data that its settings have loaded, and each worker process unpacks it once. Limits on
networks are enforced where they run: the time of a task counts from its start, however long it was queued.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

from firstlight import _version
from firstlight.core.amounts import parse_amount
from firstlight.core.errors import MissingExtraError, SettingError, WorkerError
from firstlight.core.events import Callback, Event, ignore
from firstlight.data.images import DATA_FOLDER
from firstlight.execution.executor import Lost, R, T, available_cores, check_timeout
from firstlight.execution.ray_needs import ONE_CPU, TaskNeeds
from firstlight.execution.ray_tasks import Limits, perform
from firstlight.execution.workers import Raised, check_memory_limit

__all__ = ["RayCluster", "TaskNeeds"]

# Seconds between two checks of whether nodes have come or gone
SECONDS_BETWEEN_LOOKS = 5.0
# Despite its name, this variable of Ray decides on all systems whether other machines can connect
_OPEN_TO_OTHERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_CLIENT = "ray://"
_NOTHING: Any = object()
_AGAIN = object()


class RayCluster:
    """Runs jobs on a Ray cluster.

    A process that is already connected to Ray stays with that cluster.

    Args:
        address: "auto" for the cluster that this machine belongs to, or HOST:PORT. Default: a local Ray, which is
            started with the first item.
        workers: The number of tasks that a local Ray runs at the same time. Default: one for each core.
        needs: The resources of each task.
        timeout: Seconds after which an item is given up.
        max_memory: Memory that an item may take, in bytes or as in "4G".
        callback: Called with a "message" event on the size of the cluster, at the start and whenever it changes.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        needs: TaskNeeds = ONE_CPU,
        timeout: float | None = None,
        max_memory: float | str | None = None,
        callback: Callback = ignore,
    ) -> None:
        if workers is not None and address is not None:
            raise SettingError(
                f"The cluster at {address!r} has its own workers. Leave out either the address or workers={workers}."
            )
        if workers is not None and workers < 1:
            raise SettingError(
                f"workers is {workers}; a local Ray needs 1 or more. Without Ray, 0 runs in this process."
            )
        if address is not None and address.startswith(_CLIENT):
            raise SettingError(
                f"The address {address!r} is that of a Ray client, which is not supported. Run the command on a "
                "machine of the cluster with the address 'auto', or on one that reaches all nodes with HOST:PORT, "
                "where PORT is that of the head node (6379 by default). See docs/cluster.md."
            )
        limits = Limits(check_timeout(timeout), check_memory_limit(parse_amount(max_memory, unit="B")))
        self._limits = None if limits == Limits() else limits
        self.address, self.workers, self.needs, self._callback = address, workers, needs, callback
        self._ray = _import_ray(local=address is None)
        self._perform = self._ray.remote(**needs.options())(perform)
        self._uses = 0
        self._ours = False  # True if this object opened the connection and has to close it
        self._sent: list[tuple[Callable[[Any], Any], Any]] = []
        self._size, self._at_a_time, self._looked = "", 0, -math.inf
        self._waiting_since: float | None = None  # for a node with the resources of a task

    @property
    def at_a_time(self) -> int:
        """How many tasks the cluster runs at the same time; it is asked now, and may grow or shrink."""
        with self.staying():
            self._connect()
            self._room()
            return self._at_a_time

    def map(self, job: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Lost]]:
        queue = iter(items)
        first = next(queue, _NOTHING)
        if first is _NOTHING:
            return
        queue = itertools.chain([first], queue)
        with self.staying():
            self._connect()
            flight = _Flight(self._perform, self._send(job), self._limits)
            try:
                while True:
                    for item in itertools.islice(queue, max(0, self._room() - len(flight.tasks))):
                        flight.start(_Task(item))
                    if not flight.tasks:
                        return
                    task = flight.landed(within=SECONDS_BETWEEN_LOOKS)
                    if task is not None:
                        result = self._result(task)
                        if result is _AGAIN:
                            flight.start(task)
                        else:
                            yield task.item, result
            finally:
                for task in flight.tasks:  # their results are no longer needed
                    self._ray.cancel(task.reference)

    @contextlib.contextmanager
    def staying(self) -> Iterator[None]:
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            if not self._uses:
                self._sent.clear()
                if self._ours:
                    self._ours = False
                    self._ray.shutdown()

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address is None:
            workers = available_cores() if self.workers is None else self.workers
            self._ray.init("local", num_cpus=math.ceil(workers * self.needs.cpus), include_dashboard=False, **quiet)
        else:
            # Firstlight itself is sent along; nodes need only its dependencies
            brought: dict[str, Any] = {"py_modules": [str(Path(_version.__file__).parent)]}
            if DATA_FOLDER in os.environ:
                brought["env_vars"] = {DATA_FOLDER: os.environ[DATA_FOLDER]}
            try:
                _reach(self.address)
                self._ray.init(self.address, runtime_env=brought, **quiet)
            except (OSError, ValueError) as error:
                raise WorkerError(
                    f"There is no Ray cluster at {self.address!r}: {error}. Start one with `ray start --head`, or "
                    "leave out the address to use this machine."
                ) from error
        self._ours = True
        self._looked = -math.inf

    def _send(self, job: Callable[[Any], Any]) -> Any:
        """Put the job into the object store, unless it is there already."""
        from firstlight.execution.shipping import pack

        for known, reference in self._sent:
            if known == job:
                return reference
        reference = self._ray.put(pack(job))
        self._sent.append((job, reference))
        return reference

    def _room(self) -> int:
        """Return how many tasks may be submitted: those that run, and as many that wait for them.

        Nodes come and go. An autoscaling cluster must see at least some waiting tasks to grow.
        """
        if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            self._at_a_time = sum(map(self.needs.at_a_time, nodes))
            size = _counted(len(nodes), "node") + "".join(
                f", {_counted(round(total), name)}"
                for name in ("CPU", "GPU")
                if (total := sum(n.get(name, 0) for n in nodes))
            )
            if self._at_a_time:
                self._waiting_since = None
            else:
                size += self._wait(size)
            if size != self._size:
                self._size = size
                self._callback(Event("message", note=f"Ray: {size}"))
            self._looked = time.monotonic()
        return max(2, 2 * self._at_a_time)

    def _wait(self, size: str) -> str:
        """Return what is waited for, in words; raises once waiting is pointless, at once for a local Ray."""
        now = time.monotonic()
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        is_fixed = self._ours and self.address is None
        if is_fixed or now - self._waiting_since >= self.needs.wait:
            waited = (
                "" if is_fixed else f", and none joined within {self.needs.wait:g} s (ray:wait=SECONDS waits longer)"
            )
            raise WorkerError(
                f"A task needs {self.needs}, which no node has: there are {size}{waited}. Request less "
                "(the minimum is ray:cpus=1:gpus=0:memory=0), or add such a node."
            )
        return f"; waiting for one with {self.needs}, which a task needs"

    def _result(self, task: _Task) -> Any:
        """Return the result; raises the job's own error. A lost task is repeated, up to the limit of retries."""
        raised = self._ray.exceptions
        try:
            result = task.answer.result()
        except (
            raised.WorkerCrashedError,
            raised.NodeDiedError,
            raised.OutOfMemoryError,
            raised.ObjectLostError,
        ) as error:
            if task.attempts <= self.needs.retries:
                return _AGAIN
            return Lost(f"its worker or node was lost {task.attempts} times: {_first_sentence(error)}")
        except raised.RayError as error:
            raise WorkerError(
                f"Ray could not run a task: {getattr(error, 'cause', error)}. Every node needs the dependencies of "
                "Firstlight, and the same versions of Python and Ray. See docs/cluster.md."
            ) from error
        if isinstance(result, Raised):
            raise result.error
        return result


@dataclass(eq=False)
class _Task:
    item: Any
    attempts: int = 0
    reference: Any = None
    answer: Future[Any] = field(default_factory=Future)


class _Flight:
    """The tasks of one job that are submitted, and those that have finished."""

    def __init__(self, remote: Any, job: Any, limits: Limits | None) -> None:
        self._remote, self._job, self._limits = remote, job, limits
        self._landed: SimpleQueue[_Task] = SimpleQueue()
        self.tasks: set[_Task] = set()

    def start(self, task: _Task) -> None:
        task.attempts += 1
        task.reference = self._remote.remote([self._job], task.item, self._limits)
        self.tasks.add(task)
        task.answer = task.reference.future()
        task.answer.add_done_callback(lambda _: self._landed.put(task))

    def landed(self, within: float) -> _Task | None:
        """Return a finished task; None if there is none within that many seconds."""
        try:
            task = self._landed.get(timeout=within)
        except Empty:
            return None
        self.tasks.remove(task)
        return task


def _import_ray(local: bool) -> ModuleType:
    """Import Ray without usage statistics and log output; a local one listens to this machine only."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # keeps standard output free for JSON
    if "ray" not in sys.modules and local:  # the import decides it for the whole process
        os.environ.setdefault(_OPEN_TO_OTHERS, "0")
    elif "ray" in sys.modules and not local and os.environ.get(_OPEN_TO_OTHERS) == "0":
        raise WorkerError("This process has already used a local Ray. Connect to a cluster from another process.")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray (--executor ray)", "ray") from error
    return ray


def _reach(address: str) -> None:
    """Raise OSError if nobody listens at the address, which Ray itself takes minutes to find out."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _first_sentence(error: Exception) -> str:
    words = str(getattr(error, "cause", error))  # an error within a task comes with its traceback
    return words.strip().partition("\n")[0].partition(". ")[0]
