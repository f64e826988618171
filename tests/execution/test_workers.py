"""Worker processes take items as they can, stay or stop as asked, and lose nothing but what they died of."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.execution import jobs

from firstlight.core.errors import SettingError, WorkerError
from firstlight.execution.executor import Lost, make_executor
from firstlight.execution.memory import can_limit_memory
from firstlight.execution.workers import KEPT_JOBS, WorkerProcesses


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


def test_an_error_about_workers_that_a_job_raises_is_its_own() -> None:
    with pytest.raises(WorkerError, match="not here"):
        list(WorkerProcesses(1).map(jobs.cannot_work, [1]))


def test_a_worker_that_stays_keeps_the_jobs_used_last(tmp_path: Path) -> None:
    executor, often = WorkerProcesses(1), jobs.Unpacked(str(tmp_path))
    with executor.staying():
        kept = [dict(executor.map(jobs.Kept(number), [0]))[0] for number in range(KEPT_JOBS + 3)]
        assert kept == [*range(1, KEPT_JOBS), *[KEPT_JOBS] * 4]
        for number in range(KEPT_JOBS + 3):
            assert list(executor.map(often, [number])) == [(number, number)]
            assert list(executor.map(jobs.Kept(number), [0])) != []
    assert len(list(tmp_path.iterdir())) == 1


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
    assert "died twice (signal 9" in lost.reason


def test_a_worker_that_somebody_killed_costs_nothing(tmp_path: Path) -> None:
    job = jobs.DieOnce(tmp_path / "has died")
    assert dict(WorkerProcesses(1).map(job, range(3))) == {n: n for n in range(3)}
    assert job.mark.exists()


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


def test_what_a_network_does_to_its_worker_costs_nothing_but_itself(capfd: pytest.CaptureFixture[str]) -> None:
    items = ["crash", "exit", "hang", "print", "be good"]
    assert dict(WorkerProcesses(2, timeout=1).map(jobs.misbehave, items)) == {
        "crash": Lost("the worker process died twice (signal 11)"),
        "exit": Lost("the worker process died twice (exit code 7)"),
        "hang": Lost("took longer than 1 s"),
        "print": Lost("took longer than 1 s"),
        "be good": "be good",
    }
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not can_limit_memory(), reason="memory of a process cannot be limited here")
def test_a_network_that_takes_too_much_memory_is_given_up() -> None:
    ((_, lost),) = WorkerProcesses(1, max_memory=2**28).map(jobs.misbehave, ["hog"])
    assert isinstance(lost, Lost)
    assert lost.status == "out_of_memory"
    assert "can't allocate memory" in lost.reason


def test_a_worker_ends_by_itself_when_the_main_process_is_killed(tmp_path: Path) -> None:
    code = (
        "from firstlight.execution.workers import WorkerProcesses; from tests.execution.jobs import Hangs\n"
        f"if __name__ == '__main__': list(WorkerProcesses(1).map(Hangs({str(tmp_path / 'pid')!r}), [0]))"
    )
    script = tmp_path / "hanging.py"
    script.write_text(code)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    main = subprocess.Popen([sys.executable, script], env=os.environ | {"PYTHONPATH": paths})
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert main.poll() is None
        time.sleep(0.02)
    worker = int((tmp_path / "pid").read_text())
    os.kill(worker, 0)
    main.kill()
    main.wait()
    while _is_running(worker):  # for ever, if it does not
        time.sleep(0.02)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/status")
    return not status.exists() or "State:\tZ" not in status.read_text()  # nobody may be there to collect it


def test_memory_cannot_be_limited_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SettingError, match="max_worker_memory is 4000000000, but darwin"):
        make_executor(1, max_worker_memory="4G")
