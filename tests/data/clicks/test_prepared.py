"""Prepared clicks: batches of a part, in order or shuffled, whole or a share, and never all at once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.clicks import logs
from tests.data.clicks.logs import LAYOUT, USUAL

from firstlight.core.errors import DataError, SettingError, UnknownNameError
from firstlight.data.clicks import ClickData, is_clicks, open_clicks, prepared, writing
from firstlight.data.clicks.parts import PARTS
from firstlight.data.clicks.prepare import prepare_clicks

GROUP = 16


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ClickData:
    """240 rows in groups of 16, each with a price of its own."""
    folder = tmp_path_factory.mktemp("clicks")
    rows = [(row[0], str(place), *row[2:]) for place, row in enumerate(USUAL * 3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "GROUP_ROWS", GROUP)
        return prepare_clicks(LAYOUT, logs.write(folder / "log.csv", rows), folder / "clicks.parquet")


def prices(data: ClickData, part: str = "train", size: int = 7, **options: Any) -> list[int]:
    """Which rows come, in their order."""
    return [round(float(price)) for x, _ in data.batches(part, size, **options) for price in x[:, 0].expm1()]


def test_all_rows_come_once_in_batches_of_the_asked_size(data: ClickData) -> None:
    shuffled = {part: prices(data, part, seed=1) for part in PARTS}
    assert sorted(row for rows in shuffled.values() for row in rows) == list(range(240))
    for part, rows in shuffled.items():
        assert prices(data, part) == sorted(rows)
        assert len(rows) == data.rows[part] == data.count(part)
    for size in (1, 5, GROUP, 100, 1000):
        found = list(data.batches("train", size, seed=0))
        assert [len(y) for _, y in found[:-1]] == [size] * (len(found) - 1)
        whole = list(data.batches("train", size, seed=0, whole=True))
        assert len(whole) == data.rows["train"] // size
        assert all(torch.equal(a[0], b[0]) for a, b in zip(whole, found, strict=False))
        assert prices(data, size=size, seed=0) == prices(data, seed=0)
    x, y = found[0]
    assert (x.dtype, x.shape[1], y.dtype) == (torch.float32, 4, torch.int64)
    assert x.is_contiguous()
    assert torch.equal(y, x[:, 0].expm1().round().long() % 2)  # the right label beside each row


def test_shuffling_follows_the_seed_and_mixes_groups_and_rows(data: ClickData) -> None:
    assert prices(data, seed=3) == prices(data, seed=3)
    assert prices(data, seed=3) != prices(data, seed=4)
    groups = [set(prices(data, seed=3)[start : start + GROUP]) for start in (0, GROUP)]
    ordered = prices(data)
    stored = [set(ordered[start : start + GROUP]) for start in range(0, len(ordered), GROUP)]
    assert all(group in stored for group in groups)
    assert groups != stored[:2]


@settings(max_examples=20)
@given(st.floats(0.01, 1), st.integers(0, 5))
def test_a_share_is_of_the_same_rows_whatever_the_order(data: ClickData, share: float, seed: int) -> None:
    plain = prices(data, share=share, share_seed=seed)
    assert len(plain) == data.count("train", share) == round(data.rows["train"] * share)
    assert plain == sorted(set(plain))
    assert sorted(prices(data, share=share, share_seed=seed, seed=9, size=3)) == plain


def test_another_seed_takes_another_share(data: ClickData) -> None:
    assert prices(data, share=0.3, share_seed=0) != prices(data, share=0.3, share_seed=1)


def test_a_group_is_read_when_its_rows_are_asked_for(data: ClickData, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = prepared._read_group

    def counted(file: Any, group: int, width: int) -> np.ndarray:
        read.append(group)
        return original(file, group, width)

    monkeypatch.setattr(prepared, "_read_group", counted)
    batches = data.batches("train", 8)
    assert read == []
    for count in (1, 1, 2, 2, 3):
        next(batches)
        assert len(read) == count
    read.clear()
    list(data.batches("test", 1000))
    table = pq.ParquetFile(data.path)
    parts = [set(table.read_row_group(group)["part"].to_pylist()) for group in range(table.num_row_groups)]
    assert read == [group for group, found in enumerate(parts) if found == {"test"}]  # and no group of another part


def test_data_can_be_sent_to_other_processes(data: ClickData) -> None:
    assert prices(pickle.loads(pickle.dumps(data))) == prices(data)


def test_names_of_sources(data: ClickData) -> None:
    assert all(map(is_clicks, ("criteo:a", "avazu:a", "kdd:a", "clicks:a")))
    assert not any(map(is_clicks, ("npz:a", "criteo", "digits", "synthetic")))
    found = open_clicks(f"clicks:{data.path}")
    assert (found.fingerprint, found.input_shape, found.skeleton) == (
        data.fingerprint,
        (4,),
        {"dense": 2, "categories": (500_000, 500_000)},
    )
    with pytest.raises(DataError, match=f"with the layout 'clicks'. Use clicks:{data.path}"):
        open_clicks(f"criteo:{data.path}")
    with pytest.raises(DataError, match=r"does not name click data\. Use criteo:FILE"):
        open_clicks("digits")


def test_files_that_are_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*firstlight data prepare criteo LOG -o .*none.parquet"):
        open_clicks(f"criteo:{tmp_path}/none.parquet")
    log = logs.write(tmp_path / "log.parquet", USUAL)
    text = logs.write(tmp_path / "log.csv", USUAL)
    for path in (log, text):
        with pytest.raises(DataError, match=f"firstlight data prepare avazu {path} -o log-prepared.parquet"):
            open_clicks(f"avazu:{path}")
    with pytest.raises(DataError, match=r"firstlight data prepare criteo\|avazu\|kdd "):
        open_clicks(f"clicks:{log}")


def test_a_file_that_was_cut_off_or_changed(data: ClickData, tmp_path: Path) -> None:
    content = data.path.read_bytes()
    broken = tmp_path / "broken.parquet"
    for length in (10, len(content) // 2, len(content) - 3):
        broken.write_bytes(content[:length])
        with pytest.raises(DataError, match="truncated or changed after it was prepared"):
            open_clicks(f"clicks:{broken}")
    first = pq.ParquetFile(data.path).metadata.row_group(0).column(0)
    place = first.data_page_offset + first.total_compressed_size // 2
    broken.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
    opened = open_clicks(f"clicks:{broken}")
    (part,) = set(pq.ParquetFile(data.path).read_row_group(0)["part"].to_pylist())
    with pytest.raises(DataError, match="truncated or changed after it was prepared"):
        list(opened.batches(part, 100))


def test_a_file_of_another_form(data: ClickData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "FORM", 2)
    with pytest.raises(DataError, match=r"another version of Firstlight \(form 1, expected 2\)"):
        open_clicks(f"clicks:{data.path}")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "plain.parquet")
    with pytest.raises(DataError, match="was not prepared"):
        open_clicks(f"clicks:{tmp_path}/plain.parquet")


def test_what_cannot_be_asked_for(data: ClickData) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
        next(data.batches("trian", 2))
    with pytest.raises(SettingError, match="at least 1"):
        next(data.batches("train", 0))
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(SettingError, match="above 0 and at most 1"):
            data.count("train", share)


@pytest.mark.parametrize("facts", ["{", "[]", '{"form": 1}', "[" * 5000])
def test_damaged_facts_are_refused(tmp_path: Path, facts: str) -> None:
    path = tmp_path / "clicks.parquet"
    pq.write_table(pa.table({"label": [0]}).replace_schema_metadata({"firstlight": facts}), path)
    with pytest.raises(DataError, match=r"The metadata of .* is damaged"):
        open_clicks(f"clicks:{path}")


def test_a_column_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    pq.write_table(pa.table({"label": [0]}), path)
    path.write_bytes(path.read_bytes().replace(b"label", b"l\x80\x80el"))
    with pytest.raises(DataError, match="prepare"):
        open_clicks(f"clicks:{path}")
