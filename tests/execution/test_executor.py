"""Where jobs run must not show in what they return."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from tests.execution import jobs

from firstlight.core.errors import SettingError
from firstlight.execution.executor import InProcess, available_cores, items_at_a_time, make_executor
from firstlight.execution.workers import WorkerProcesses


@pytest.mark.parametrize("executor", [InProcess(), WorkerProcesses(1), WorkerProcesses(2)])
def test_every_item_has_its_result(executor: InProcess | WorkerProcesses) -> None:
    assert dict(executor.map(jobs.square, range(7))) == {n: n * n for n in range(7)}
    assert list(executor.map(jobs.square, [])) == []


@pytest.mark.parametrize("executor", [InProcess(), WorkerProcesses(1)])
def test_jobs_compute_on_one_thread(executor: InProcess | WorkerProcesses) -> None:
    before = torch.get_num_threads()
    assert list(executor.map(jobs.threads, [0])) == [(0, 1)]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("executor", [InProcess(), WorkerProcesses(1)])
def test_a_job_that_raises_raises_here(executor: InProcess | WorkerProcesses) -> None:
    with pytest.raises(FileNotFoundError, match="three"):
        list(executor.map(jobs.fail_on_three, range(6)))


def test_the_number_of_workers() -> None:
    default = make_executor()
    assert isinstance(default, WorkerProcesses)
    assert default.count == available_cores()
    assert isinstance(make_executor(0), InProcess)
    with pytest.raises(SettingError, match="-1"):
        make_executor(-1)


def test_limits_on_each_item() -> None:
    limited = make_executor(1, timeout=2.5, max_worker_memory="1.5GB")
    assert isinstance(limited, WorkerProcesses)
    assert (limited.timeout, limited.max_memory) == (2.5, 1_500_000_000)
    for wrong in (0, -1, math.nan, math.inf, "5", True):
        with pytest.raises(SettingError, match="seconds above 0"):
            make_executor(1, timeout=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"\(--max-worker-memory\): 'much' is not an amount"):
        make_executor(1, max_worker_memory="much")


@pytest.mark.parametrize("limit", [{"timeout": 5.0}, {"max_worker_memory": "4G"}])
def test_what_runs_in_this_process_cannot_be_limited(limit: dict[str, Any]) -> None:
    (name,) = limit
    with pytest.raises(SettingError, match=f"{name} is .* workers is 0.*--workers 1"):
        make_executor(0, **limit)


def test_executors_say_how_much_they_do_at_a_time() -> None:
    assert items_at_a_time(InProcess()) == 1
    assert items_at_a_time(make_executor(3)) == 3
    assert items_at_a_time(make_executor(0)) == 1
