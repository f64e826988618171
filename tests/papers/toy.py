"""A folder of data as experiments expect it, with a small table in it, and sizes that cost next to nothing."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pandas as pd
from tests.evaluation.test_correlate import a_table

from firstlight.papers.experiment import Experiment, Outcome
from firstlight.papers.runner import RunOptions, reproduce
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.space import NASBench1Shot1
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201

NETWORKS = 30
SMALL: dict[str, Any] = {
    "samples": 12,
    "skeleton": {"cells": 1, "channels": 4, "input_shape": (3, 8, 8)},
    "input": "synthetic",
    "workers": 0,
    "resamples": 20,
}


def run(experiment: Experiment, **options: Any) -> Outcome:
    return reproduce(experiment, RunOptions(**options))


def write_tables(folder: Path) -> Path:
    """NAS-Bench-201 as the tables of benchmarks name its columns."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = a_table(NETWORKS).frame
    accuracy = rows["toy_test_5"]
    columns = {
        "architecture": rows["architecture"],
        "cifar10_test_200": accuracy,
        "cifar10_val_200": accuracy - 1,
        "cifar100_test_200": accuracy - 20,
        "imagenet16_test_200": 100 - accuracy,
    }
    pd.DataFrame(columns).to_parquet(folder / "nb201.parquet")
    return folder


def write_all_cells(folder: Path) -> Path:
    """Every cell of NAS-Bench-201 without `none`, the better the more convolutions it has."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [Cell201(names) for names in itertools.product(OPERATIONS[1:], repeat=6)]
    accuracy = pd.Series([70.0 + 4 * sum("conv" in name for name in cell.operations) for cell in cells])
    columns = {
        "architecture": [str(cell) for cell in cells],
        "cifar10_val_12": accuracy - 30,
        "cifar10_test_200": accuracy,
        "cifar100_test_200": accuracy - 20,
        "imagenet16_test_200": accuracy - 50,
    }
    pd.DataFrame(columns).to_parquet(folder / "nb201.parquet")
    return folder


# Four vertices lead to its output, which are too many for NAS-Bench-1Shot1
OUTSIDE = Cell101(("conv3x3", "conv1x1", "conv1x1"), ((0,), (0,), (0, 2), (0, 1, 2, 3)))


def write_cells_of_nb101(folder: Path, count: int = 12) -> list[Cell101]:
    """Cells of the spaces of NAS-Bench-1Shot1 as NAS-Bench-101 writes them, and one that is of none.

    Those of S1 come first and are returned, with accuracies .900, .905 and so on; the others are of S2 and S3.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng, cells = random.Random(0), list[Cell101]()
    first = SPACES["nasbench1shot1-s1"]
    assert isinstance(first, NASBench1Shot1)
    for number in (1, 2, 3):
        space = SPACES[f"nasbench1shot1-s{number}"]
        while len(cells) < number * count:
            cell = space.sample(rng).canonical()
            if cell not in cells and (number == 1) == (first.standing_for(cell) is not None):
                cells.append(cell)
    texts = [str(cell) for cell in (*cells, OUTSIDE)]
    accuracies = [0.9 + 0.005 * (number % count) for number in range(len(texts))]
    pd.DataFrame({"architecture": texts, "val_acc_108": accuracies}).to_parquet(folder / "nb101_sample.parquet")
    return cells[:count]
