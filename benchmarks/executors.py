"""Networks a second in process, on worker processes and on a local Ray; and what each task costs the driver.

Executors take turns on the same networks, so that what else the machine does meets all of them. The CPU time of a
score is taken where it is computed: what a worker could do if it had a core to itself.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from firstlight.execution.executor import Executor, InProcess
from firstlight.execution.ray import RayCluster
from firstlight.execution.shipping import pack
from firstlight.execution.workers import WorkerProcesses
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import ScoreJob, Setting, Task
from firstlight.spaces import SPACES

SPACE, PROXY = "nasbench201", "dextr"


@dataclass(frozen=True)
class CpuSeconds:
    """A job that returns what another one costs where it runs."""

    job: Callable[[Any], Any]

    def __call__(self, item: Any) -> float:
        start = time.process_time()
        self.job(item)
        return time.process_time() - start


def nothing(number: int) -> int:
    return number


def tasks(space: str, count: int) -> list[Task]:
    rng = random.Random(0)
    return [(str(SPACES[space].sample(rng)), (PROXY,)) for _ in range(count)]


def score_job(space: str) -> ScoreJob:
    return ScoreJob(Setting(space), tuple(parse_requests(PROXY)))


def throughput(executors: dict[str, Executor], networks: int, rounds: int) -> None:
    job, asked = CpuSeconds(score_job(SPACE)), tasks(SPACE, networks)
    seconds, cpu = dict.fromkeys(executors, 0.0), dict.fromkeys(executors, 0.0)
    for executor in executors.values():
        list(executor.map(job, asked[:4]))  # processes are started, data are loaded
    for _ in range(rounds):
        for name, executor in executors.items():
            start = time.perf_counter()
            cpu[name] += sum(result for _, result in executor.map(job, asked) if isinstance(result, float))
            seconds[name] += time.perf_counter() - start
    done = networks * rounds
    print(f"{SPACE}, {PROXY}: {networks} networks, {rounds} times on each")
    for name in executors:
        print(f"  {name:<20} {done / seconds[name]:6.2f} networks/s, {cpu[name] / done * 1e3:6.1f} ms of CPU each")


def driver(executors: dict[str, Executor], count: int) -> None:
    """What remains if the job itself costs nothing."""
    print(f"{count:,} tasks that do nothing:")
    for name, executor in executors.items():
        start, cpu = time.perf_counter(), time.process_time()
        assert sum(1 for _ in executor.map(nothing, range(count))) == count
        used, passed = time.process_time() - cpu, time.perf_counter() - start
        print(
            f"  {name:<20} {used / count * 1e6:6.0f} us of the driver's CPU each, {passed / count * 1e6:6.0f} us passed"
        )
    job = score_job(SPACE)
    (task,) = tasks(SPACE, 1)
    there, back = len(pickle.dumps(task)), len(pickle.dumps(job(task)))
    print(f"  a task takes {there} bytes there and {back} back; the job, once, {len(pack(job).packed):,} bytes")


def costs(space: str, count: int) -> None:
    """Of single scores, which spread widely."""
    job = CpuSeconds(score_job(space))
    job(tasks(space, 1)[0])
    found = sorted(float(seconds) for _, seconds in InProcess().map(job, tasks(space, count)))  # type: ignore[arg-type]
    print(
        f"{space}, {PROXY}, {count} networks: {sum(found) / count:.3f} s of CPU each on average, median "
        f"{found[count // 2]:.3f} s, {found[0]:.3f} to {found[-1]:.3f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=2000)
    arguments = parser.parse_args()
    executors: dict[str, Executor] = {
        "in process": InProcess(),
        "1 worker process": WorkerProcesses(1),
        "2 worker processes": WorkerProcesses(2),
        "Ray with 2 workers": RayCluster(workers=2),
    }
    with ExitStack() as stack:
        for executor in executors.values():
            stack.enter_context(executor.staying())
        throughput(executors, arguments.networks, arguments.rounds)
        driver(executors, arguments.tasks)
    for space in ("nasbench101", "mobilenetv2"):
        costs(space, arguments.networks)


if __name__ == "__main__":
    main()
