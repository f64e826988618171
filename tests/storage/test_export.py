"""Exported rows are those of the store, in several chunks or one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.storage.test_store import KEY, SCORE
from tests.storage.test_upkeep import fill

from firstlight.core.errors import SettingError, StoreError
from firstlight.storage.environment import this_environment
from firstlight.storage.export import export_rows
from firstlight.storage.store import Store


@pytest.mark.parametrize(("suffix", "read"), [(".parquet", pd.read_parquet), (".csv", pd.read_csv)])
def test_rows_in_chunks(suffix: str, read: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firstlight.storage.export.CHUNK", 70)
    path = tmp_path / "store.sqlite"
    fill(path)
    out = tmp_path / f"rows{suffix}"
    assert export_rows(path, out) == 300
    frame = read(out)  # type: ignore[operator]
    assert len(frame) == 300
    by_seed = frame.set_index("seed")
    assert (by_seed.value[1:] == SCORE.value).all()
    assert pd.isna(by_seed.value[0])
    assert by_seed.status[0] == "failed"
    row = by_seed.loc[1]
    assert (row.architecture, row.proxy, row.torch) == (KEY.architecture, KEY.proxy, this_environment().torch)
    assert json.loads(row.parts) == SCORE.parts
    for table, rows in (("evaluations", 1), ("trials", 1)):
        assert export_rows(path, out, table) == len(read(out)) == rows  # type: ignore[operator]
    assert {file.name for file in tmp_path.iterdir()} == {path.name, out.name}


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    assert export_rows(path, tmp_path / "none.parquet") == 0
    with pytest.raises(SettingError, match=r"table 'score'.*scores, evaluations, trials"):
        export_rows(path, tmp_path / "rows.csv", "score")
    with pytest.raises(SettingError, match=r"must end in .parquet or .csv"):
        export_rows(path, tmp_path / "rows.xlsx")
    with pytest.raises(StoreError, match=r"rows.csv cannot be written: .*name another file"):
        export_rows(path, tmp_path / "nowhere" / "rows.csv")
