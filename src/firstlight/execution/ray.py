"""Jobs on a Ray cluster: one that runs already, or a local one for as long as there is work.

Each item is a task of its own, and twice as many are on their way as can be worked on at a time. The job travels once:
it is put into the object store with all data that its settings have loaded, and each worker process unpacks it once.
Limits on networks are kept where they run: the time of a task counts from when it starts, however long it was queued.
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
from firstlight.data.images import DATA_FOLDER
from firstlight.execution.executor import Lost, R, T, available_cores, check_timeout
from firstlight.execution.ray_needs import ONE_CPU, TaskNeeds
from firstlight.execution.ray_tasks import Limits, perform
from firstlight.execution.workers import Raised, check_memory_limit

__all__ = ["RayCluster", "TaskNeeds"]

# How often it is looked whether nodes have come or gone
SECONDS_BETWEEN_LOOKS = 5.0
# Ray's switch for clusters of machines on systems that are not made for them; its name says less than it does
_OPEN_TO_OTHERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_CLIENT = "ray://"
_NOTHING: Any = object()
_AGAIN = object()


class RayCluster:
    """The cluster at an `address`, or a local one of so many `workers`, which is started at the first item.

    A process that is connected to Ray already stays with that cluster. `timeout`, in seconds, and `max_memory`, in
    bytes or such as "4G", are limits of each item, as those of worker processes. `tell` hears how large the cluster is,
    at the start and whenever that has changed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        needs: TaskNeeds = ONE_CPU,
        timeout: float | None = None,
        max_memory: float | str | None = None,
        tell: Callable[[str], None] = lambda words: None,
    ) -> None:
        if workers is not None and address is not None:
            raise SettingError(
                f"The cluster at {address!r} has workers of its own. Leave out the address, or workers={workers}."
            )
        if workers is not None and workers < 1:
            raise SettingError(f"A local Ray is to have {workers} workers; take 1 or more, or leave Ray out.")
        if address is not None and address.startswith(_CLIENT):
            raise SettingError(
                f"The address {address!r} is one of Ray's client, which is not supported. Run the command on a machine "
                "of the cluster with the address 'auto', or on one that reaches all of them with HOST:PORT, the port "
                "being that of the head: 6379 unless it was started with another. See docs/cluster.md."
            )
        limits = Limits(check_timeout(timeout), check_memory_limit(parse_amount(max_memory, unit="B")))
        self._limits = None if limits == Limits() else limits
        self.address, self.workers, self.needs, self._tell = address, workers, needs, tell
        self._ray = _import_ray(local=address is None)
        self._perform = self._ray.remote(**needs.options())(perform)
        self._uses = 0
        self._ours = False  # whether the connection is closed in the end
        self._sent: list[tuple[Callable[[Any], Any], Any]] = []
        self._size, self._at_a_time, self._looked = "", 0, -math.inf
        self._waiting_since: float | None = None  # for a node that has what a task asks for

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
                for task in flight.tasks:  # those whose results are no longer asked for
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
            # nodes need the packages that Firstlight depends on, but not Firstlight
            brought: dict[str, Any] = {"py_modules": [str(Path(_version.__file__).parent)]}
            if DATA_FOLDER in os.environ:
                brought["env_vars"] = {DATA_FOLDER: os.environ[DATA_FOLDER]}
            try:
                _reach(self.address)
                self._ray.init(self.address, runtime_env=brought, **quiet)
            except (OSError, ValueError) as error:
                raise WorkerError(
                    f"There is no Ray cluster at {self.address!r}: {error}. Start one with `ray start --head`, or "
                    "leave the address out to use this machine."
                ) from error
        self._ours = True
        self._looked = -math.inf

    def _send(self, job: Callable[[Any], Any]) -> Any:
        """Into the object store, unless it is there."""
        from firstlight.execution.shipping import pack

        for known, reference in self._sent:
            if known == job:
                return reference
        reference = self._ray.put(pack(job))
        self._sent.append((job, reference))
        return reference

    def _room(self) -> int:
        """How many tasks may be under way: those that are worked on, and as many that are ready when they end.

        Nodes come and go. At least two let a cluster which grows with its work see that there is some.
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
                self._tell(f"Ray: {size}")
            self._looked = time.monotonic()
        return max(2, 2 * self._at_a_time)

    def _wait(self, size: str) -> str:
        """In words. A cluster that grows with its work may have a node soon; one of our own will not."""
        now = time.monotonic()
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        is_fixed = self._ours and self.address is None
        if is_fixed or now - self._waiting_since >= self.needs.wait:
            waited = (
                "" if is_fixed else f", nor has one come within {self.needs.wait:g} s (ray:wait=SECONDS waits longer)"
            )
            raise WorkerError(
                f"A task asks for {self.needs}, which no node has: there are {size}{waited}. Ask for less "
                "(ray:cpus=1:gpus=0:memory=0 asks for least), or add a node that has it."
            )
        return f"; waiting for one with {self.needs}, which a task asks for"

    def _result(self, task: _Task) -> Any:
        """What has come back; the job's own error is raised. What is lost is worth another attempt, up to a point."""
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
                f"Ray could not run a task: {getattr(error, 'cause', error)}. Every node needs what Firstlight needs, "
                "and the same versions of Python and Ray. See docs/cluster.md."
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
    """Tasks of one job that are under way, and those that have come back."""

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
        """One that has come back; None if there is none for so many seconds."""
        try:
            task = self._landed.get(timeout=within)
        except Empty:
            return None
        self.tasks.remove(task)
        return task


def _import_ray(local: bool) -> ModuleType:
    """Ray, which sends no statistics, prints nothing, and if it is local listens to this machine only."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # of workers that die: standard output may be JSON
    if "ray" not in sys.modules and local:  # which decides it for the whole process
        os.environ.setdefault(_OPEN_TO_OTHERS, "0")
    elif "ray" in sys.modules and not local and os.environ.get(_OPEN_TO_OTHERS) == "0":
        raise WorkerError("This process has used Ray on this machine alone. Connect to a cluster from another one.")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray (--executor ray)", "ray") from error
    return ray


def _reach(address: str) -> None:
    """Raises OSError if nobody listens there, which Ray itself takes minutes to find out."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _first_sentence(error: Exception) -> str:
    words = str(getattr(error, "cause", error))  # of an error within a task, without where it was
    return words.strip().partition("\n")[0].partition(". ")[0]
