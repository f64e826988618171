"""On a cluster of two nodes, as anywhere: where jobs run must not show in what they return."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import firstlight as run
from tests.execution import jobs

import firstlight
from firstlight.core.errors import DataError, MissingExtraError, SettingError, UnknownNameError, WorkerError
from firstlight.core.events import Event
from firstlight.evaluation.fit.notebook import NOTEBOOK
from firstlight.execution.executor import InProcess, Lost, items_at_a_time, make_executor
from firstlight.execution.memory import can_limit_memory
from firstlight.execution.ray import RayCluster, TaskNeeds
from firstlight.execution.ray_tasks import Unpacking
from firstlight.storage.environment import this_environment
from firstlight.training.job import EvaluationJob, EvaluationSetting
from firstlight.training.recipe import TrainingRecipe

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'firstlight[ray]'")

SEARCH = ["search", "nasbench201", "--samples", "8", "--skeleton", "channels=4,cells=1", "--json"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.add_node(num_cpus=1)
    yield found
    found.shutdown()


@pytest.fixture(scope="module")
def executor(cluster: Any) -> Iterator[RayCluster]:
    """The connection stays for all tests."""
    found = RayCluster(cluster.address, needs=TaskNeeds(retries=1))
    with found.staying():
        assert list(found.map(jobs.square, [2])) == [(2, 4)]
        yield found


def test_every_item_has_its_result(executor: RayCluster) -> None:
    assert dict(executor.map(jobs.square, range(9))) == {n: n * n for n in range(9)}
    assert list(executor.map(jobs.square, [])) == []
    assert list(executor.map(jobs.threads, [0])) == [(0, 1)]


def test_items_are_taken_only_as_they_can_be_worked_on(executor: RayCluster) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    results = executor.map(jobs.square, items())
    for _ in range(3):
        next(results)
    assert len(taken) <= 2 * 3 + 3  # at most three CPUs, if the node of another test is still there
    results.close()


def test_a_search_from_the_command_line_finds_the_same(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    found = run(*SEARCH, "--out", str(tmp_path / "a"), "--executor", "ray", "--address", cluster.address)
    expected = run(*SEARCH, "--out", str(tmp_path / "b"), "--workers", "0")
    assert "Ray: 2 nodes, 2 CPUs" in found.stderr
    assert found_by(found.stdout) == found_by(expected.stdout)


def test_a_fit_asks_how_many_tasks_run_at_a_time(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"time": "1s", "max_params": "2k", "max_latency": 1000, "out": tmp_path}
    assert items_at_a_time(executor) >= 2
    found = firstlight.fit("digits@8", executor=RayCluster(cluster.address), **asked)
    schedule = json.loads((tmp_path / NOTEBOOK).read_text())["schedule"]
    assert schedule["trainings at a time"] >= 2
    assert "at most 1,000.0 ms of latency" in "\n".join(found.decisions)
    assert found.baseline.finished


def test_a_node_that_is_lost_midway_changes_nothing(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    leaving, seen = cluster.add_node(num_cpus=1), []
    asked: dict[str, Any] = {"samples": 16, "skeleton": {"channels": 4, "cells": 1}}

    def watch(event: Any) -> None:
        if event.stage != "scoring":
            return
        seen.append(event)
        if len(seen) == 4:
            cluster.remove_node(leaving, allow_graceful=False)

    found = firstlight.search("nasbench201", **asked, executor=RayCluster(cluster.address), callback=watch)
    expected = firstlight.search("nasbench201", **asked, workers=0)
    assert len(seen) == 16
    assert scores(found) == scores(expected)


def test_an_item_whose_worker_dies_is_tried_again_and_then_lost(executor: RayCluster, tmp_path: Path) -> None:
    ((_, lost),) = executor.map(jobs.MarkAndDieOnThree(str(tmp_path)), [3])
    assert isinstance(lost, Lost)
    assert "lost 2 times" in lost.reason
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_network_does_to_its_worker_costs_nothing_but_itself(executor: RayCluster, cluster: Any) -> None:
    limited = RayCluster(cluster.address, timeout=3)  # which does not count for "be good" while it waits for the others
    assert dict(limited.map(jobs.misbehave, ["crash", "exit", "hang", "print", "be good"])) == {
        "crash": Lost("the worker process died twice (signal 11)"),
        "exit": Lost("the worker process died twice (exit code 7)"),
        "hang": Lost("took longer than 3 s"),
        "print": Lost("took longer than 3 s"),
        "be good": "be good",
    }


@pytest.mark.skipif(not can_limit_memory(), reason="memory of a process cannot be limited here")
def test_a_network_that_takes_too_much_memory_is_given_up(executor: RayCluster, cluster: Any) -> None:
    results = dict(RayCluster(cluster.address, max_memory="256M").map(jobs.misbehave, ["hog", "be good"]))
    lost = results.pop("hog")
    assert results == {"be good": "be good"}
    assert isinstance(lost, Lost)
    assert lost.status == "out_of_memory"
    assert "can't allocate memory" in lost.reason


def test_limits_change_no_result_and_need_no_file(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    file, job, cell = training_job(tmp_path)
    expected = dict(InProcess().map(job, [cell]))
    file.unlink()
    assert dict(RayCluster(cluster.address, timeout=100).map(job, [cell])) == expected
    with pytest.raises(FileNotFoundError, match="three"):
        list(RayCluster(cluster.address, timeout=100).map(jobs.fail_on_three, [3]))


def test_with_limits_a_process_stays_from_task_to_task(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    limited = RayCluster(cluster.address, timeout=100)
    pairs = [pair for _, pair in limited.map(jobs.own_process_and_its_parent, range(12))]
    processes = set(pairs)
    assert len(processes) == len({parent for _, parent in processes}) < len(pairs)
    with limited.staying():
        for _ in range(2):
            assert len(dict(limited.map(jobs.Unpacked(str(tmp_path)), range(12)))) == 12
    assert len(list(tmp_path.iterdir())) < 12


def test_a_job_that_is_fetched_once_more_is_the_same() -> None:
    assert Unpacking("a", None, jobs.square) == Unpacking("a", None)
    assert Unpacking("a", None, jobs.square) != Unpacking("b", None, jobs.square)


def test_a_job_that_is_lost_on_its_way_is_no_error_of_its_own(
    executor: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Owner:
        def put(self) -> list[Any]:
            return [ray.put(bytes(10**6))]

    owner = ray.remote(Owner).remote()
    (gone,) = ray.get(owner.put.remote())
    ray.kill(owner)  # and what it owned goes with it
    with contextlib.suppress(ray.exceptions.ObjectLostError):
        while True:
            ray.get(gone)
    monkeypatch.setattr(executor, "_send", lambda job: gone)
    ((_, lost),) = executor.map(jobs.square, [3])
    assert isinstance(lost, Lost)
    assert "lost 2 times" in lost.reason


def test_a_job_that_raises_raises_here(executor: RayCluster) -> None:
    with pytest.raises(FileNotFoundError, match="three"):
        list(executor.map(jobs.fail_on_three, range(6)))
    with pytest.raises(WorkerError, match=r"cannot pickle.*lock.*docs/cluster\.md"):
        list(executor.map(jobs.lock, [1]))


def test_a_job_travels_once(executor: RayCluster, tmp_path: Path) -> None:
    for _ in range(2):
        assert len(dict(executor.map(jobs.Unpacked(str(tmp_path)), range(20)))) == 20
    processes = {process for _, process in executor.map(jobs.own_process, range(8))}
    assert 1 <= len(list(tmp_path.iterdir())) <= len(processes) + 1


def test_the_package_travels_too(executor: RayCluster) -> None:
    (folder,) = {folder for _, folder in executor.map(jobs.package_folder, [0])}
    assert folder != os.path.dirname(firstlight.__file__)


def test_data_travel_with_the_job(executor: RayCluster, tmp_path: Path) -> None:
    file, job, cell = training_job(tmp_path)
    expected = dict(InProcess().map(job, [cell]))
    file.unlink()
    assert dict(executor.map(job, [cell])) == expected


def test_files_that_stay_must_be_there(executor: RayCluster, tmp_path: Path) -> None:
    assert list(executor.map(jobs.NeedsFile(tmp_path), [1])) == [(1, 1)]
    with pytest.raises(DataError, match=r"does not have .*gone.*docs/cluster\.md"):
        list(executor.map(jobs.NeedsFile(tmp_path / "gone"), [1]))


@pytest.mark.parametrize("timeout", [None, 100])
def test_a_node_whose_numbers_may_differ_is_refused(
    executor: RayCluster, cluster: Any, timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = replace(this_environment(), torch="1.13.0")
    monkeypatch.setattr("firstlight.execution.shipping.this_environment", lambda: elsewhere)
    with pytest.raises(WorkerError, match=r"node .* has PyTorch 2.*, but the driver has PyTorch 1\.13\.0 on"):
        list(RayCluster(cluster.address, timeout=timeout).map(jobs.square, [1]))


def test_a_local_ray_is_started_and_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "firstlight", *SEARCH[:3], "2", *SEARCH[4:], "--executor", "ray", "--workers", "1"]
    found = subprocess.run([*command, "--out", str(tmp_path / "a")], capture_output=True, text=True, check=True)
    expected = run(*SEARCH[:3], "2", *SEARCH[4:], "--out", str(tmp_path / "b"), "--workers", "0")
    assert "Ray: 1 node, 1 CPU\n" in found.stderr
    assert found_by(found.stdout) == found_by(expected.stdout)


def test_tasks_share_gpus_as_they_ask(executor: RayCluster, cluster: Any, tmp_path: Path) -> None:
    """A node says itself how many it has: logical ones, which are scheduled as others are."""
    node = cluster.add_node(num_cpus=8, num_gpus=1)
    told: list[str] = []
    try:
        sharing = RayCluster(
            cluster.address, needs=TaskNeeds(cpus=0.5, gpus=0.5), callback=lambda event: told.append(event.note)
        )
        assert max(seen for _, seen in sharing.map(jobs.AtATime(str(tmp_path), 2), range(4))) == 2
        alone = RayCluster(cluster.address, needs=TaskNeeds(cpus=0.5, gpus=1))
        assert max(seen for _, seen in alone.map(jobs.AtATime(str(tmp_path), 1), range(2))) == 1
        assert told == ["Ray: 3 nodes, 10 CPUs, 1 GPU"]
    finally:
        cluster.remove_node(node)


@pytest.mark.parametrize(("asked", "words"), [("gpus=1", "1 CPUs, 1 GPUs"), ("cpus=99", "99 CPUs")])
def test_what_no_node_has_is_not_waited_for_without_end(
    executor: RayCluster, cluster: Any, asked: str, words: str
) -> None:
    needs = TaskNeeds.parse(f"ray:wait=0:{asked}")
    with pytest.raises(WorkerError, match=f"{words}, which no node has: there are .* within 0 s .*ray:wait"):
        list(RayCluster(cluster.address, needs=needs).map(jobs.square, [1]))


def test_a_node_that_comes_in_time_is_waited_for(executor: RayCluster, cluster: Any) -> None:
    nodes, told = [], []

    def callback(event: Event) -> None:
        told.append(event.note)
        if "waiting" in event.note:
            nodes.append(cluster.add_node(num_cpus=1, num_gpus=1))

    waiting = RayCluster(cluster.address, needs=TaskNeeds(gpus=1), callback=callback)
    assert list(waiting.map(jobs.square, [3])) == [(3, 9)]
    assert "waiting for one with 1 CPUs, 1 GPUs" in told[0]
    for node in nodes:
        cluster.remove_node(node)


def test_what_a_task_asks_for() -> None:
    assert TaskNeeds.parse("ray:cpus=2:gpus=0.5:memory=4G:retries=0:wait=9") == TaskNeeds(2, 0.5, "4G", 0, 9)
    needs = TaskNeeds(2, 0, "4G")
    assert needs.options() == {"num_cpus": 2, "num_gpus": 0, "max_retries": 0, "memory": 4_000_000_000}
    assert needs.at_a_time({"CPU": 8, "memory": 9e9}) == 2
    assert TaskNeeds(gpus=1).at_a_time({"CPU": 8}) == 0
    for wrong in ("ray:cpus=0", "ray:gpus=-1", "ray:memory=much", "ray:retries=-1", "ray:wait=-1", "ray:threads=2"):
        with pytest.raises(SettingError, match=wrong.partition("=")[2]):
            TaskNeeds.parse(wrong)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="local, ray"):
        make_executor(executor="cluster")
    with pytest.raises(SettingError, match="address auto"):
        make_executor(address="auto")
    with pytest.raises(SettingError, match="workers=2"):
        make_executor(2, "ray", "auto")
    with pytest.raises(SettingError, match=r"'ray://head:10001' is that of a Ray client.*HOST:PORT"):
        make_executor(executor="ray", address="ray://head:10001")
    with pytest.raises(SettingError, match="timeout is -1"):
        make_executor(executor="ray", timeout=-1)
    with pytest.raises(SettingError, match="'much' is not an amount"):
        make_executor(executor="ray", max_worker_memory="much")
    with pytest.raises(SettingError, match="workers is 0"):
        make_executor(0, "ray")
    with pytest.raises(SettingError, match="workers is 2"):
        make_executor(2, InProcess())


def test_an_address_where_nobody_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    script = f"from firstlight.execution.ray import RayCluster; list(RayCluster({address!r}).map(abs, [1]))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert f"WorkerError: There is no Ray cluster at '{address}'" in ended.stderr


def test_without_ray_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'firstlight\[ray\]'"):
        make_executor(executor="ray")


def training_job(folder: Path) -> tuple[Path, EvaluationJob, str]:
    """A file with images, a job that trains on it, and a network."""
    rng = np.random.default_rng(0)
    file = folder / "images.npz"
    np.savez(file, x=rng.random((40, 3, 8, 8), dtype=np.float32), y=np.arange(40) % 4)
    setting = EvaluationSetting(
        "nasbench201",
        source_name=f"npz:{file}",
        recipe=TrainingRecipe(epochs=1, batch_size=8),
        skeleton_settings=(("cells", 1), ("channels", 4)),
    )
    job = EvaluationJob(setting, setting.dataset.fingerprint)
    cell = str(setting.space.parse("|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"))
    return file, job, cell


def scores(result: firstlight.SearchResult) -> dict[str, float]:
    frame = result.to_frame()
    return dict(zip(frame["architecture"], frame["dextr"], strict=True))


def found_by(output: str) -> Any:
    """What does not depend on where it was found, or how fast."""
    content = json.loads(output)
    score = content["best"]["scores"]["dextr"]
    return content["best"]["architecture"], score["value"], score["parts"], content["scored"], content["rejected"]
