"""A made-up log, in which things that come together decide."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from firstlight.core.errors import DataError, SettingError
from firstlight.data.clicks import synthetic
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import PlantedClicks, synthesize_clicks

CRITEO = LAYOUTS["criteo"]


@pytest.fixture(scope="module")
def drawn() -> tuple[PlantedClicks, pa.Table, np.ndarray]:
    planted = PlantedClicks()
    ((table, chances),) = planted.chunks(30_000)
    return planted, table, chances


def test_the_log_has_the_layout_of_criteo_with_gaps_and_frequent_categories(
    drawn: tuple[PlantedClicks, pa.Table, np.ndarray],
) -> None:
    _, table, chances = drawn
    assert tuple(table.schema.names) == CRITEO.columns
    labels = table["label"].to_numpy()
    assert 0.2 < labels.mean() < 0.35
    assert abs(labels.mean() - chances.mean()) < 0.02
    assert any(table[name].null_count for name in CRITEO.numbers)
    assert any(table[name].null_count for name in CRITEO.categories)
    for name in CRITEO.categories:
        counts = np.sort(np.unique(table[name].drop_null().to_numpy(), return_counts=True)[1])[::-1]
        assert counts[0] > 3 * np.median(counts) or len(counts) < 100


def test_only_a_model_of_pairs_gets_near_to_the_best_that_is_possible(
    drawn: tuple[PlantedClicks, pa.Table, np.ndarray],
) -> None:
    planted, table, chances = drawn
    labels = table["label"].to_numpy()
    places = [
        np.unique(table[name].fill_null("").to_numpy(zero_copy_only=False), return_inverse=True)[1]
        for name in CRITEO.categories
    ]
    numbers = np.stack([np.log1p(table[name].fill_null(0).to_numpy()) for name in CRITEO.numbers], 1)
    single = sparse.hstack([numbers / 3, *map(one_hot, places)])
    pairs = [one_hot(places[f] * 100_000 + places[g]) for f, g in itertools.combinations(planted.paired_fields, 2)]
    best = roc_auc_score(labels[20_000:], chances[20_000:])
    of_singles, of_pairs = (held_out_auc(x.tocsr(), labels) for x in (single, sparse.hstack([single, *pairs])))
    assert 0.78 < best < 0.83
    assert of_singles < 0.66
    assert of_pairs > of_singles + 0.07


def one_hot(places: np.ndarray) -> sparse.csr_matrix:
    _, places = np.unique(places, return_inverse=True)
    return sparse.csr_matrix((np.ones(len(places)), (np.arange(len(places)), places)))


def held_out_auc(x: sparse.csr_matrix, y: np.ndarray) -> float:
    model = LogisticRegression(C=0.1, max_iter=100, tol=1e-2).fit(x[:20_000], y[:20_000])
    return float(roc_auc_score(y[20_000:], model.decision_function(x[20_000:])))


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".parquet"])
def test_every_kind_of_file_is_prepared_alike(tmp_path: Path, ending: str) -> None:
    told: list[tuple[int, int]] = []
    synthesize_clicks(tmp_path / f"log{ending}", 500, seed=3, progress=lambda *done: told.append(done))
    data = prepare_clicks(CRITEO, tmp_path / f"log{ending}", tmp_path / "out.parquet")
    assert told == [(500, 500)]
    ((table, _),) = PlantedClicks(3).chunks(500)
    pq.write_table(table, tmp_path / "memory.parquet")
    assert data.fingerprint == prepare_clicks(CRITEO, tmp_path / "memory.parquet", tmp_path / "b.parquet").fingerprint
    assert sum(data.rows.values()) == 500


def test_the_first_rows_do_not_change_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "CHUNK", 100)
    few, many = (pa.concat_tables(table for table, _ in PlantedClicks(1).chunks(rows)) for rows in (150, 330))
    assert few.equals(many.slice(0, 150))
    assert [len(table) for table, _ in PlantedClicks(1).chunks(250)] == [100, 100, 50]
    assert not many.slice(0, 100).equals(many.slice(100, 100))
    assert not few.equals(pa.concat_tables(table for table, _ in PlantedClicks(2).chunks(150)))


def test_what_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least 1"):
        synthesize_clicks(tmp_path / "a.tsv", 0)
    with pytest.raises(DataError, match=r"end in .tsv, .csv or .parquet"):
        synthesize_clicks(tmp_path / "a.txt", 5)
    with pytest.raises(DataError, match="cannot be written"):
        synthesize_clicks(tmp_path / "none" / "a.tsv", 5)
