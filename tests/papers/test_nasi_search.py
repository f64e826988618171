"""Experiments that search by NASI: the same as the algorithm finds, with steps that are taken once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.test_experiments import SEARCHING, stored
from tests.papers.test_measures import Counting
from tests.papers.toy import SMALL, run, write_all_cells

import firstlight
from firstlight.core.errors import SettingError
from firstlight.papers import EXPERIMENTS
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import few_seeds_remark
from firstlight.papers.nasi_search import NASI, NASI_RIDGE, NB201, search
from firstlight.storage.store import Store

TINY: dict[str, Any] = {"cells": 1, "channels": 2, "input_shape": (3, 8, 8)}
FEW = SMALL | {"samples": 10, "skeleton": TINY}
# One search in place of ten
BRIEF = {name: replace(EXPERIMENTS[name], seeds=1) for name in SEARCHING}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_cells(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that experiments share their steps."""
    return tmp_path_factory.mktemp("out")


def a_lab(folder: Path | None = None, **changes: Any) -> Lab:
    lab = Lab(
        DataFolder(folder), Counting(), Store(":memory:"), 10, (0, 1), "synthetic", tuple(TINY.items()), resamples=20
    )
    return replace(lab, **changes)


def test_ten_searches_unless_said_otherwise() -> None:
    assert all(EXPERIMENTS[name].seeds == 10 for name in SEARCHING)


def test_what_is_found_is_what_the_algorithms_find() -> None:
    found = search(a_lab(seeds=(7,)), "nasbench201", 4, batch=3)
    for method, algorithm in ((NASI, "nasi"), (NASI_RIDGE, "nasi-ridge")):
        asked = f"{algorithm}:steps=4:batch=3"
        result = firstlight.search("nasbench201", algorithm=asked, skeleton=TINY, seed=7, workers=0)
        assert found.architectures[method] == [result.best.architecture]


def test_a_longer_search_goes_on_with_the_steps_of_the_shorter() -> None:
    lab, watched = a_lab(), list[tuple[int, int | None]]()
    search(lab, "nasbench201", 2, batch=2)
    again = replace(lab, callback=lambda event: watched.append((event.done, event.total)))
    found = search(again, "nasbench201", 3, batch=2)
    assert isinstance(lab.executor, Counting)
    assert lab.executor.items == [0, 1, 0, 1, 2, 2]
    assert watched == [(done, 6) for done in range(1, 7)]
    assert found.seconds > 0
    assert search(again, "nasbench201", 3, batch=2) == found


@pytest.mark.parametrize("shown", ["random labels", "random data"])
def test_other_labels_and_data_are_other_steps(shown: str) -> None:
    lab = a_lab(input="digits@8", skeleton=(("cells", 1), ("channels", 2)), seeds=(0,))
    assert isinstance(lab.executor, Counting)
    search(lab, "nasbench201", 1, batch=2)
    search(lab, "nasbench201", 1, batch=2, shown=shown)
    assert len(lab.executor.items) == 2


@pytest.mark.parametrize("name", SEARCHING)
def test_it_runs_and_remembers(name: str, data: Path, out: Path) -> None:
    outcome = run(BRIEF[name], data=data, out=out, **FEW)
    before = stored(out)
    assert run(BRIEF[name], data=data, out=out, **FEW) == outcome
    assert stored(out) == before
    lines = {(line.what, line.on): line for line in outcome.findings.lines}
    assert len(lines) == len(outcome.findings.lines)
    for method in (NASI, NASI_RIDGE):
        searched = [line for (what, _), line in lines.items() if what.startswith(method)]
        assert searched
        assert all("1 of 1 searches" in line.note for line in searched)
    assert lines["control: cells of convolutions only: accuracy, %", "NB201 CIFAR-10"].ours
    assert lines["control: random cells without none: accuracy, %", "NB201 ImageNet16-120"].ours
    assert any("steps took" in remark for remark in outcome.findings.remarks)
    assert any("needs 10 seeds, and 1 was given" in remark for remark in outcome.findings.remarks)
    assert outcome.settings["steps"] == "10 of each search"
    assert ("networks" in outcome.settings) == (name == "nasi-table8")


def test_samples_are_steps(data: Path) -> None:
    few = FEW | {"samples": 3}
    with pytest.raises(SettingError, match="samples is 3; nasi-nb201 needs 4 steps of each search"):
        run(EXPERIMENTS["nasi-nb201"], data=data, **few)
    with pytest.raises(SettingError, match="samples is 3; nasi-table8 needs 10 networks"):
        run(EXPERIMENTS["nasi-table8"], data=data, **few)


def test_ten_seeds_are_enough_for_an_interval() -> None:
    assert not list(few_seeds_remark(a_lab(seeds=tuple(range(10)))))
    assert list(few_seeds_remark(a_lab(seeds=tuple(range(9)))))


def test_budgets_stand_beside_the_published_ones(data: Path, out: Path) -> None:
    lines = run(BRIEF["nasi-nb201"], data=data, out=out, **FEW).findings.lines
    for steps, budget in ((2, "T"), (10, "4T")):
        said = [line for line in lines if line.what == f"NASI, {steps} steps: accuracy, %"]
        assert [line.published for line in said] == list(NB201.rows[budget])
    assert [line for line in lines if line.what.startswith("nasi-ridge") and line.published] == []


def test_what_labels_and_data_change_is_told_where_there_are_images(data: Path) -> None:
    images = a_lab(data, samples=2, seeds=(0,), input="digits@8", skeleton=(("cells", 1), ("channels", 2)))
    told = [line.what for line in EXPERIMENTS["nasi-table2"].run(images).lines]
    assert told.count("NASI, random labels minus true labels: accuracy, %") == 3
    assert told.count("NASI, random data minus true labels: accuracy, %") == 3
    noise = EXPERIMENTS["nasi-table2"].run(a_lab(data, samples=2, seeds=(0,)))
    assert not any("minus" in line.what for line in noise.lines)
    assert any("shown noise" in remark for remark in noise.remarks)


def test_a_search_with_images_in_nasbench1shot1(benchmark_data: Path) -> None:
    lab = a_lab(benchmark_data, input="digits@8", skeleton=(), seeds=(0,))
    found = search(lab, "nasbench1shot1-s1", 2, batch=2)
    space = firstlight.space("nasbench1shot1-s1")
    for (text,) in found.architectures.values():
        assert str(space.canonical(space.parse(text))) == text
