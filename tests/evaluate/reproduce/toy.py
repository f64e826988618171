"""A folder of data as experiments expect it, with a small table in it, and sizes that cost next to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from tests.evaluate.test_correlate import a_table

NETWORKS = 30
SMALL: dict[str, Any] = {
    "samples": 12,
    "skeleton": {"cells": 1, "channels": 4, "input_shape": (3, 8, 8)},
    "input": "synthetic",
    "workers": 0,
    "resamples": 20,
}


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
