"""Experiments that search by NASI: the same as the algorithm finds, with steps that are taken once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.test_experiments import stored
from tests.papers.test_measures import Counting
from tests.papers.toy import SMALL, run, write_all_cells, write_cells_of_nb101

import firstlight
from firstlight.core.errors import SettingError
from firstlight.papers import EXPERIMENTS
from firstlight.papers.benchmarks import ONE_SHOT, DataFolder
from firstlight.papers.known_cells import KnownCells
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.nasi_darts import CIFAR, RULES, found, of_figure5
from firstlight.papers.nasi_search import (
    MUS,
    NASI,
    NASI_RIDGE,
    NU_FACTORS,
    TABLE4,
    budgets,
    search,
    swept,
    take,
)
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms.nasi import Rule
from firstlight.storage.store import Store

TINY: dict[str, Any] = {"cells": 1, "channels": 2, "input_shape": (3, 8, 8)}
FEW = SMALL | {"samples": 4, "skeleton": TINY, "algorithm": "nasi:batch=2:nu_samples=2"}
ON_NB201 = ["nasi-table4", "nasi-figure6"]
ON_ONE_SHOT = ["nasi-table2", "nasi-table6", "nasi-table8", "nasi-figure2"]
# One search in place of ten
BRIEF = {name: replace(EXPERIMENTS[name], seeds=1) for name in (*ON_NB201, *ON_ONE_SHOT, "nasi-darts")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_all_cells(tmp_path_factory.mktemp("data"))
    write_cells_of_nb101(folder)
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that experiments share their steps."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture(autouse=True)
def one_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firstlight.papers.nasi_search.ONE_SHOT", ONE_SHOT[:1])
    monkeypatch.setattr("firstlight.papers.nasi_search.WIDTHS", (2, 4))
    monkeypatch.setattr("firstlight.papers.nasi_search.BATCHES", (8, 16))


def a_lab(folder: Path | None = None, algorithm: str = "nasi:batch=2:nu_samples=3", **changes: Any) -> Lab:
    lab = Lab(
        DataFolder(folder), Counting(), Store(":memory:"), 4, (0, 1), "synthetic", tuple(TINY.items()), resamples=20
    )
    return replace(lab, algorithm=AlgorithmRequest.parse(algorithm), **changes)


def test_ten_searches_unless_said_otherwise() -> None:
    assert all(EXPERIMENTS[name].seeds == 10 for name in (*ON_NB201, *ON_ONE_SHOT))


@pytest.mark.parametrize("settings", ["batch=3:nu_samples=2", "batch=3:variant=ada:nu=5:mu=2:normalize=unit"])
def test_what_is_found_is_what_the_algorithms_find(settings: str) -> None:
    searched = search(a_lab(seeds=(7,), algorithm=f"nasi:{settings}"), "nasbench201", 4)
    for method, algorithm in ((NASI, f"nasi:{settings}"), (NASI_RIDGE, "nasi-ridge:batch=3")):
        result = firstlight.search("nasbench201", algorithm=f"{algorithm}:steps=4", skeleton=TINY, seed=7, workers=0)
        assert searched.architectures[method] == [result.best.architecture]


def test_a_longer_search_goes_on_with_the_steps_of_the_shorter() -> None:
    lab, watched = a_lab(algorithm="nasi:batch=2:nu=9"), list[tuple[int, int | None]]()
    search(lab, "nasbench201", 2)
    again = replace(lab, callback=lambda event: watched.append((event.done, event.total)))
    longer = search(again, "nasbench201", 3)
    assert isinstance(lab.executor, Counting)
    assert lab.executor.items == [0, 1, 0, 1, 2, 2]
    assert watched == [(done, 6) for done in range(1, 7)]
    assert longer.seconds > 0
    assert search(again, "nasbench201", 3) == longer


@pytest.mark.parametrize(
    "change", [{"shown": "random labels"}, {"shown": "random data"}, {"channels": 3}, {"batch": 3}]
)
def test_other_labels_data_widths_and_batches_are_other_steps(change: dict[str, Any]) -> None:
    lab = a_lab(input="digits@8", skeleton=(("cells", 1), ("channels", 2)), seeds=(0,), algorithm="nasi:batch=2:nu=9")
    assert isinstance(lab.executor, Counting)
    search(lab, "nasbench201", 1)
    search(lab, "nasbench201", 1, **change)
    assert len(lab.executor.items) == 2


@pytest.mark.parametrize("name", [*ON_NB201, *ON_ONE_SHOT])
def test_it_runs_and_remembers(name: str, data: Path, out: Path) -> None:
    few = FEW | ({"skeleton": {"input_shape": (3, 8, 8)}} if name in ON_ONE_SHOT else {})
    outcome = run(BRIEF[name], data=data, out=out, **few)
    before = stored(out)
    assert run(BRIEF[name], data=data, out=out, **few) == outcome
    assert stored(out) == before
    lines = {(line.what, line.on): line for line in outcome.findings.lines}
    assert len(lines) == len(outcome.findings.lines)
    searched = [line for (what, _), line in lines.items() if what.startswith(NASI)]
    assert searched
    assert all("1 of 1 searches" in line.note for line in searched)
    assert any("needs 10 seeds, and 1 was given" in remark for remark in outcome.findings.remarks)
    assert outcome.settings["steps"] == "4 of each search"
    assert outcome.settings["search"] == "nasi:batch=2:nu_samples=2"
    assert "--algorithm nasi:batch=2:nu_samples=2" in outcome.command


def test_steps_are_samples_and_other_searches_are_refused(data: Path) -> None:
    with pytest.raises(SettingError, match="samples is 3; nasi-table4 needs 4 steps of each search"):
        run(EXPERIMENTS["nasi-table4"], data=data, **(FEW | {"samples": 3}))
    for algorithm in ("nasi:steps=3", "nasi:seconds=9", "random"):
        with pytest.raises(SettingError, match=r"takes settings of nasi .* number of steps is --samples"):
            run(EXPERIMENTS["nasi-table4"], data=data, **(FEW | {"algorithm": algorithm}))
    with pytest.raises(SettingError, match="nasi-table3 does not take the settings of a search"):
        run(EXPERIMENTS["nasi-table3"], data=data, algorithm="nasi")


def test_ten_seeds_are_enough_for_an_interval() -> None:
    assert not list(few_seeds_remark(a_lab(seeds=tuple(range(10)))))
    assert list(few_seeds_remark(a_lab(seeds=tuple(range(9)))))


def test_budgets_stand_beside_the_published_ones(data: Path, out: Path) -> None:
    lines = run(BRIEF["nasi-table4"], data=data, out=out, **FEW).findings.lines
    for steps, budget in ((1, "T"), (4, "4T")):
        said = [line for line in lines if line.what == f"NASI, {steps} steps: accuracy, %"]
        assert [line.published for line in said] == list(TABLE4.rows[budget])
    assert [line for line in lines if line.what.startswith("nasi-ridge") and line.published] == []
    assert budgets(20) == [1, 2, 5, 10, 20]


def test_each_width_and_batch_size_stands_beside_the_published_one(data: Path, out: Path) -> None:
    for name, ways in (("nasi-table6", ("N = 2", "N = 4")), ("nasi-table8", ("b = 8", "b = 16"))):
        few = FEW | {"skeleton": {"input_shape": (3, 8, 8)}}
        lines = {line.what: line for line in run(BRIEF[name], data=data, out=out, **few).findings.lines}
        (table,) = EXPERIMENTS[name].answers
        for way in ways:
            assert lines[f"NASI, {way}: error, %"].published == table.at(way, "NB-1Shot1 S1")


def test_what_labels_and_data_change_is_told_where_there_are_images(data: Path) -> None:
    images = a_lab(data, samples=1, seeds=(0,), input="digits@8", skeleton=(), algorithm="nasi:batch=2:nu=9")
    told = [line.what for line in EXPERIMENTS["nasi-table2"].run(images).lines]
    assert told.count("NASI, random labels minus true labels: error, %") == 1
    assert told.count("NASI, random data minus true labels: error, %") == 1
    noise = EXPERIMENTS["nasi-table2"].run(replace(images, input="synthetic", skeleton=(("input_shape", (3, 8, 8)),)))
    assert not any("minus" in line.what for line in noise.lines)
    assert any("shown noise" in remark for remark in noise.remarks)


def test_cells_that_are_looked_up_are_in_the_table(data: Path) -> None:
    lab = a_lab(data, skeleton=(("input_shape", (3, 8, 8)),))
    known = Lookup(lab, ONE_SHOT[0], errors=True).known
    searched = search(lab, "nasbench1shot1-s1", 2, known=KnownCells("nasbench1shot1-s1", known))
    free = search(lab, "nasbench1shot1-s1", 2)
    assert set(searched.architectures[NASI]) <= set(known)
    same = [a == b for a, b in zip(searched.architectures[NASI], free.architectures[NASI], strict=True)]
    assert searched.own == sum(same)


def test_a_sweep_is_what_other_settings_would_find(data: Path) -> None:
    lab = a_lab(data, seeds=(3,))
    (taken,) = take(lab, "nasbench201", 4, variant="fix", nu=0.0, mu="1")
    nu = taken.rule.nu
    assert nu == pytest.approx(taken.judge.traces_before(3).mean())
    for mu, factor in ((MUS[1], NU_FACTORS[0]), (MUS[0], NU_FACTORS[3])):
        other = search(
            replace(lab, algorithm=AlgorithmRequest.parse(f"nasi:batch=2:mu={mu}:nu={factor * nu}")), "nasbench201", 4
        )
        assert other.architectures[NASI] == [swept(taken, factor, float(mu))]


# ---------------------------------------- DARTS


def test_sizes_in_darts_stand_beside_the_published_ones(out: Path) -> None:
    few = FEW | {"skeleton": TINY | {"cells": 3}}
    lines = {(line.what, line.on): line for line in run(BRIEF["nasi-darts"], out=out, **few).findings.lines}
    assert lines["NASI-FIX: parameters, M, on CIFAR", "seed 0"].published.low == 3.9  # type: ignore[union-attr]
    assert lines["mu = 2, nu = 10: parameters, M, on CIFAR", "seed 0"].published.low == 2.26  # type: ignore[union-attr]
    assert lines["mu = 3, nu = 200: parameters, M, on CIFAR", "seed 0"].published is None
    assert lines["control: random genotypes: parameters, M, on CIFAR", "DARTS"].ours


def test_the_published_operations_have_nearly_the_published_size() -> None:
    space = firstlight.space("darts")
    sizes = {name: space.cost(of_figure5(name), CIFAR).params / 1e6 for name in RULES}
    assert sizes["NASI-FIX"] == pytest.approx(3.9, abs=0.1)
    assert sizes["NASI-ADA"] == pytest.approx(3.7, abs=0.1)
    for name in RULES:
        genotype = of_figure5(name)
        assert space.parse(str(genotype)) == genotype


def test_above_nu_every_mu_beyond_one_finds_the_same() -> None:
    lab = a_lab(skeleton=tuple((TINY | {"cells": 3}).items()), seeds=(0,), algorithm="nasi:batch=2:nu=9")
    (taken,) = take(lab, "darts", 3)
    assert len({str(found(taken, Rule("fix", mu, 1e-9))) for mu in (2.0, 3.0, 4.0)}) == 1
