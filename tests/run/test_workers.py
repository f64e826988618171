"""Worker processes take items as they can, stay or stop as asked, and lose nothing but what they died of."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest
from tests.run import jobs

from firstlight.errors import WorkerError
from firstlight.run.executor import Lost
from firstlight.run.workers import WorkerProcesses


def test_items_are_taken_only_as_they_can_be_worked_on() -> None:
    taken = []

    def items() -> itertools.count[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    results = WorkerProcesses(2).map(jobs.square, items())
    for _ in range(3):
        next(results)
    assert len(taken) <= 6
    results.close()


def test_workers_are_other_processes_and_stop_with_the_work() -> None:
    processes = {result for _, result in WorkerProcesses(2).map(jobs.own_process, range(6))}
    assert len(processes) == 2
    assert os.getpid() not in processes
    for process in processes:
        assert isinstance(process, int)
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_workers_stay_from_one_call_to_the_next_while_asked_to() -> None:
    executor = WorkerProcesses(2)
    with executor.staying():
        first = {result for _, result in executor.map(jobs.own_process, range(6))}
        assert dict(executor.map(jobs.square, range(7))) == {n: n * n for n in range(7)}
        assert {result for _, result in executor.map(jobs.own_process, range(6))} == first
        assert isinstance(dict(executor.map(jobs.die_on_three, [3]))[3], Lost)
        assert dict(executor.map(jobs.die_on_three, range(3))) == {n: n for n in range(3)}
        abandoned = executor.map(jobs.square, range(9))
        next(abandoned)
        abandoned.close()
        assert dict(executor.map(jobs.square, range(3))) == {n: n * n for n in range(3)}
        last = {result for _, result in executor.map(jobs.own_process, range(6))}
    with executor.staying():
        (idle,) = {result for _, result in executor.map(jobs.own_process, [0])}
        assert isinstance(idle, int)
        os.kill(idle, signal.SIGKILL)
        executor._idle[0].process.join()
        assert dict(executor.map(jobs.square, [2])) == {2: 4}
    for process in first | last:
        assert isinstance(process, int)
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.parametrize("count", [1, 2])
def test_a_worker_that_dies_costs_only_its_own_item(count: int) -> None:
    results = dict(WorkerProcesses(count).map(jobs.die_on_three, range(6)))
    lost = results.pop(3)
    assert results == {n: n for n in (0, 1, 2, 4, 5)}
    assert isinstance(lost, Lost)
    assert f"exit code -{signal.SIGKILL.value}" in lost.reason


def test_a_replacement_that_cannot_start_is_replaced_too(tmp_path: Path) -> None:
    results = dict(WorkerProcesses(1).map(jobs.UnloadableOnce(str(tmp_path)), range(6)))
    assert isinstance(results.pop(3), Lost)
    assert results == {n: n for n in (0, 1, 2, 4, 5)}


def test_a_slow_item_does_not_hold_up_the_others() -> None:
    order = [item for item, _ in WorkerProcesses(2).map(jobs.slow_first, range(8))]
    assert order[-1] == 0


def test_workers_that_cannot_start_are_explained() -> None:
    with pytest.raises(WorkerError, match=r"exit code 3.*__main__"):
        list(WorkerProcesses(1).map(jobs.Unloadable(), [1]))
