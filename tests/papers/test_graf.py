"""Predictors on a small table of cells: what they are told, and what the findings are about."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.toy import run

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS, graf
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.graf import PROXIES, Cells, over_draws
from firstlight.papers.lab import Lab
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.storage.store import Store

COUNT = 80


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells whose accuracy grows with their convolutions; proxies know it with noise, and short trainings less."""
    folder = tmp_path_factory.mktemp("graf")
    digits = random.Random(0).sample(["".join(map(str, ops)) for ops in itertools.product((0, 2, 3), repeat=6)], COUNT)
    noise = np.random.default_rng(0)
    convs = np.array([sum(digit in "23" for digit in ops) for ops in digits])
    accuracy = 70 + 3 * convs + noise.normal(0, 0.5, COUNT)
    scores = {name: convs + noise.normal(0, 1, COUNT) for name in PROXIES}
    both = [pd.DataFrame({"dataset": name, "ops": digits, **scores}) for name in ("cifar10", "imagenet16")]
    pd.concat(both).to_parquet(folder / "nb201_zc_proxies.parquet")
    columns = {
        "architecture": [str(Cell201.from_digits(ops)) for ops in digits],
        "cifar10_val_12": accuracy - 20 + noise.normal(0, 4, COUNT),
        "cifar10_val_200": accuracy,
        "cifar10_test_200": accuracy - 1,
    }
    pd.DataFrame(columns).iloc[::-1].to_parquet(folder / "nb201.parquet")
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graf, "SIZES", (10, 30))
    monkeypatch.setattr(graf, "OURS_SIZES", (20,))
    monkeypatch.setattr(graf, "FEW", (5, 10))


def a_lab(data: Path, **more: object) -> Lab:
    return Lab(DataFolder(data), InProcess(), Store(":memory:"), samples=30, seeds=(0, 1), **more)  # type: ignore[arg-type]


def test_rows_of_all_frames_are_of_the_same_cells(data: Path) -> None:
    cells = Cells.of(a_lab(data))
    assert len(cells) == COUNT
    convs = np.array([text.count("conv") for text in cells.features.index])
    assert np.corrcoef(cells.accuracies["cifar10_val_200"], convs)[0, 1] > 0.98
    assert np.corrcoef(cells.prior, convs)[0, 1] > 0.8
    widths = {name: rows.shape[1] for name, rows in cells.published.items()}
    assert widths == {"GRAF": 160 + 2, "proxies": 13, "GRAF and proxies": 160 + 13}


def test_draws(data: Path) -> None:
    cells = Cells.of(a_lab(data))
    assert cells.drawn(1, 30)[:10].tolist() == cells.drawn(1, 10).tolist()
    assert set(cells.drawn(0, 10)) != set(cells.drawn(1, 10))
    assert sorted([*cells.drawn(0, 10), *cells.rest(cells.drawn(0, 10))]) == list(range(COUNT))


def test_figure(data: Path) -> None:
    outcome = run(EXPERIMENTS["graf-figure"], data=data, samples=30, workers=0, seed=(0, 1))
    found = {finding.what: finding for finding in outcome.findings.lines}
    assert len(found) == 2 * 3 * 2 + 2 * 2 + 1
    ours = found["ours, 20 labels: Spearman"], found["ours, test accuracy, 20 labels: Spearman"]
    # here, test accuracies are in the order of the others
    assert ours[0].ours.value == pytest.approx(ours[1].ours.value, abs=0.02)  # type: ignore[union-attr]
    assert found["validation and test accuracy of all cells: Spearman"].ours.value == pytest.approx(1)  # type: ignore[union-attr]
    last = found["GRAF and proxies, 30 labels: Kendall"]
    assert last.published is not None
    assert last.published.low == 0.846
    assert found["GRAF and proxies, 10 labels: Kendall"].published is None
    for finding in found.values():
        assert finding.ours is not None
        assert 0.3 < finding.ours.value <= 1
    assert outcome.settings["labels"] == "at most 30, drawn anew for each seed"
    assert "skeleton" not in outcome.settings


def test_few_labels(data: Path) -> None:
    outcome = run(EXPERIMENTS["graf-few-labels"], data=data, samples=10, workers=0, seed=(0, 1))
    found = {finding.what: finding.ours for finding in outcome.findings.lines}
    assert len(found) == 3 + 2 * 5
    for count in (5, 10):
        ours, more = found[f"ours, {count} labels: Spearman"], found[f"ours minus the prior, {count} labels: Spearman"]
        coverage = found[f"coverage of 80 % intervals, {count} labels"]
        assert ours is not None
        assert more is not None
        assert coverage is not None
        assert ours.value - more.value == pytest.approx(found["the prior: Spearman"].value, abs=0.05)  # type: ignore[union-attr]
        assert 0.4 < coverage.value <= 1


def test_over_draws() -> None:
    found = over_draws([0.5, 0.6, 0.7])
    assert found.value == pytest.approx(0.6)
    assert found.high - found.low == pytest.approx(2 * 4.3027 * 0.1 / 3**0.5, rel=1e-4)


def test_what_it_cannot_do(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="One seed is one draw of labels"):
        over_draws([0.5])
    with pytest.raises(SettingError, match="computed from tables: leave input and skeleton out"):
        run(EXPERIMENTS["graf-figure"], data=data, skeleton={"channels": 4})
    with pytest.raises(MissingFileError, match=r"nb201_zc_proxies\.parquet"):
        run(EXPERIMENTS["graf-figure"], data=tmp_path)
    with pytest.raises(SettingError, match="needs 5 labels or more to fit a predictor"):
        run(EXPERIMENTS["graf-figure"], data=data, samples=4)
