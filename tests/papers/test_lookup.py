"""What searches found is looked up by its class, in percent, and what is not in the table is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.papers.toy import write_all_cells, write_cells_of_nb101

from firstlight.execution.executor import InProcess
from firstlight.papers.base import Published
from firstlight.papers.benchmarks import NB201_C10, NB201_TEST, ONE_SHOT, Benchmark, DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, in_percent
from firstlight.spaces import SPACES
from firstlight.storage.store import Store

CONVOLUTIONS = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"
POOLING = CONVOLUTIONS.replace("nor_conv_3x3", "avg_pool_3x3")


def lookup(folder: Path, benchmark: Benchmark = NB201_C10, errors: bool = False) -> Lookup:
    lab = Lab(DataFolder(folder), InProcess(), Store(":memory:"), 12, input="synthetic", resamples=20)
    return Lookup(lab, benchmark, errors)


def test_the_mean_over_searches(tmp_path: Path) -> None:
    found = lookup(write_all_cells(tmp_path)).mean(
        "NASI", [CONVOLUTIONS] * 9 + [POOLING], Published("somewhere", 93.0, 93.0)
    )
    assert found.ours is not None
    assert found.ours.value == pytest.approx((9 * 94 + 70) / 10)
    assert found.what == "NASI: accuracy, %"
    assert found.note == f"10 of 10 searches, deviation {np.std([94] * 9 + [70], ddof=1):.2f}"
    assert found.verdict == "too wide to tell"


def test_few_searches_have_a_mean_but_no_interval(tmp_path: Path) -> None:
    unknown = POOLING.replace("avg_pool_3x3~0|+|avg", "none~0|+|avg")
    found = lookup(write_all_cells(tmp_path)).mean("NASI", [CONVOLUTIONS, unknown, POOLING])
    assert found.ours is None
    assert found.note == "2 of 3 searches, deviation 16.97, mean 82.00"
    assert lookup(tmp_path).mean("NASI", [unknown]).note == "0 of 1 searches"


def test_differences_are_between_searches_of_one_seed(tmp_path: Path) -> None:
    both = [CONVOLUTIONS, POOLING] * 5
    found = lookup(write_all_cells(tmp_path)).difference("labels", both, both)
    assert found.ours is not None
    assert (found.ours.value, found.ours.low, found.ours.high) == (0, 0, 0)
    turned = lookup(tmp_path).difference("labels", [CONVOLUTIONS] * 10, [POOLING] * 10)
    assert turned.ours is not None
    assert turned.ours.value == 24


def test_the_best_of_some(tmp_path: Path) -> None:
    write_all_cells(tmp_path)
    assert lookup(tmp_path).best_of([POOLING, CONVOLUTIONS, "not in the table"]) == CONVOLUTIONS
    assert lookup(tmp_path, errors=True).best_of([POOLING, CONVOLUTIONS]) == CONVOLUTIONS


def test_controls(tmp_path: Path) -> None:
    convolutions, anything = lookup(write_all_cells(tmp_path)).controls()
    assert convolutions.ours is not None
    assert anything.ours is not None
    assert (convolutions.ours.value, convolutions.note) == (94.0, "64 networks")
    assert (anything.ours.value, anything.note) == (pytest.approx(82.0), "4096 networks")
    assert anything.ours.low < 82 < anything.ours.high


def test_errors_of_nasbench1shot1_come_from_fractions(tmp_path: Path) -> None:
    cells = write_cells_of_nb101(tmp_path)
    space = SPACES["nasbench1shot1-s1"]
    texts = [str(text) for text in DataFolder(tmp_path).table(ONE_SHOT[0]).frame["architecture"]]
    found = lookup(tmp_path, ONE_SHOT[0], errors=True)
    assert found.mean("NASI", texts[:2]).note.endswith("mean 9.75")
    assert found.mean("NASI", texts[:2]).what == "NASI: error, %"
    other = next(cell for cell in map(space.canonical, space) if cell.canonical() not in cells)
    assert found.mean("NASI", [str(other), *texts]).note.startswith("12 of 13 searches")
    _, anything = found.controls()
    assert anything.note == "12 networks"
    assert anything.ours is not None
    assert anything.ours.value == pytest.approx(10 - 0.5 * 11 / 2)


def test_percent() -> None:
    assert in_percent(np.array([0.5, np.nan, 1.0]))[[0, 2]].tolist() == [50, 100]
    assert in_percent(np.array([0.5, 10.0])).tolist() == [0.5, 10]


def test_controls_of_the_benchmark(benchmark_data: Path) -> None:
    """The mean of the 64 cells of convolutions as it is known for NAS-Bench-201."""
    for benchmark, mean in zip(NB201_TEST, (93.20, 70.29, 44.17), strict=True):
        convolutions, anything = lookup(benchmark_data, benchmark).controls()
        assert convolutions.ours is not None
        assert anything.ours is not None
        assert convolutions.ours.value == pytest.approx(mean, abs=0.005)
        assert anything.ours.value < mean - 3
