"""Files of measured networks: fitted, or refused with what is wrong with them."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pytest

from firstlight.core.errors import DataError, MissingFileError, TooFewError
from firstlight.scoring.devices.results import fit_results
from firstlight.spaces import SPACES

SPACE, SKELETON = SPACES["nasbench201"], "cells=1,channels=4,input_shape=3x8x8"


def table(count: int = 20) -> pd.DataFrame:
    """Networks that take one millisecond for each operation of the simplified graph."""
    rng = random.Random(0)
    skeleton = SPACE.skeleton(cells=1, channels=4, input_shape=(3, 8, 8))
    drawn = [SPACE.sample(rng) for _ in range(count)]
    times = [len(SPACE.graph(architecture, skeleton).operations) for architecture in drawn]
    return pd.DataFrame(
        {"space": "nasbench201", "architecture": map(str, drawn), "skeleton": SKELETON, "milliseconds": times}
    )


def written(folder: Path, rows: pd.DataFrame) -> Path:
    rows.to_csv(folder / "measured.csv", index=False)
    return folder / "measured.csv"


def test_a_file_is_fitted(tmp_path: Path) -> None:
    model = fit_results(written(tmp_path, table()), "mine")
    assert model.simplified
    assert model.networks == 20
    assert model.error < 0.01
    assert [model.coefficients[f"count({group})"] for group in ("spatial", "others")] == pytest.approx([1, 1], abs=0.05)
    assert (model.name, model.title) == ("mine", "mine")
    assert model.source == "measured.csv, 20 networks of nasbench201"


def test_faulty_files_are_told_what_is_wrong(tmp_path: Path) -> None:
    rows = table()
    with pytest.raises(MissingFileError, match="no file"):
        fit_results(tmp_path / "nowhere.csv", "mine")
    with pytest.raises(DataError, match=r"no column 'milliseconds'.*it has space, architecture, skeleton"):
        fit_results(written(tmp_path, rows.drop(columns="milliseconds")), "mine")
    gaps = rows.assign(milliseconds=[None, -1, "slow", *rows["milliseconds"][3:]])
    with pytest.raises(DataError, match=r"in 3 of 20 rows \(lines 2, 3, 4\). Measure these networks again"):
        fit_results(written(tmp_path, gaps), "mine")
    with pytest.raises(TooFewError, match="there are 19"):
        fit_results(written(tmp_path, rows[:19]), "mine")
    with pytest.raises(DataError, match=r"Line 2 names no network.*no built-in space 'os:system'"):
        fit_results(written(tmp_path, rows.assign(space="os:system")), "mine")
    with pytest.raises(DataError, match=r"Line 2 names no network.*Cannot read this text"):
        fit_results(written(tmp_path, rows.assign(architecture="conv")), "mine")
