"""Preparation against a plain twin, whatever kind of file the log is and however it is cut into blocks."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.clicks import logs
from tests.data.clicks.logs import LAYOUT, USUAL

from firstlight.core.errors import DataError, FirstlightError
from firstlight.data.clicks import ClickData, open_clicks, raw, writing
from firstlight.data.clicks.layouts import find_layout
from firstlight.data.clicks.parts import PARTS
from firstlight.data.clicks.prepare import prepare_clicks

ENDINGS = (".csv", ".tsv", ".parquet", ".csv.gz")


def prepared(folder: Path, rows: list[logs.Row], ending: str = ".csv", **options: Any) -> ClickData:
    return prepare_clicks(LAYOUT, logs.write(folder / f"log{ending}", rows), folder / "out.parquet", **options)


def content(data: ClickData) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    batches = {part: list(data.batches(part, 16)) for part in PARTS}
    return {
        part: (np.concatenate([x.numpy() for x, _ in found]), np.concatenate([y.numpy() for _, y in found]))
        for part, found in batches.items()
    }


@settings(max_examples=25)
@given(
    st.lists(logs.rows, max_size=30),
    st.sampled_from(ENDINGS),
    st.sampled_from([{}, {"hash_rows": 7}, {"min_count": 1}, {"min_count": 3}]),
)
def test_rows_come_back_as_the_twin_prepares_them(rows: list[logs.Row], ending: str, options: dict[str, int]) -> None:
    rows = [*USUAL, *rows]
    with tempfile.TemporaryDirectory() as folder:
        data = prepared(Path(folder), rows, ending, **options)
        expected = logs.twin(rows, **options)
        for part, (x, y) in content(data).items():
            labels, dense, ids = zip(*expected[part], strict=True)
            assert y.tolist() == list(labels)
            np.testing.assert_allclose(x[:, :2], np.array(dense), rtol=1e-6, atol=1e-12)
            assert x[:, 2:].astype(int).tolist() == list(ids)
            assert (x[:, 2:].max(0) < data.tables).all()
            assert data.rows[part] == len(labels)
            assert data.facts["clicks"][part] == sum(labels)


@pytest.mark.parametrize("options", [{}, {"min_count": 2}])
def test_nothing_depends_on_how_much_is_read_or_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    whole = {ending: prepared(tmp_path, USUAL, ending, **options) for ending in ENDINGS}
    assert len({data.fingerprint for data in whole.values()}) == 1
    first = content(prepared(tmp_path, USUAL, **options))
    for name, value in {"BLOCK_BYTES": 50, "BLOCK_ROWS": 7}.items():
        monkeypatch.setattr(raw, name, value)
    monkeypatch.setattr(writing, "GROUP_ROWS", 10)
    for ending, data in whole.items():
        cut = prepared(tmp_path, USUAL, ending, **options)
        assert cut.fingerprint == data.fingerprint
        assert cut.facts == data.facts
        assert pq.ParquetFile(cut.path).num_row_groups > 3
        for part, (x, y) in content(cut).items():
            np.testing.assert_array_equal(x, first[part][0])
            np.testing.assert_array_equal(y, first[part][1])


def test_a_fingerprint_is_another_one_for_other_rows_or_options_and_not_for_other_names(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    same = [prepared(folder, USUAL).fingerprint for folder in (tmp_path, tmp_path / "elsewhere")]
    changed = [("1", *USUAL[0][1:]), *USUAL[1:]]
    others = [
        prepared(tmp_path, changed),
        prepared(tmp_path, [*USUAL[:-1], (*USUAL[-1][:-1], "someone")]),
        prepared(tmp_path, USUAL[::-1]),
        prepared(tmp_path, USUAL, hash_rows=1000),
        prepared(tmp_path, USUAL, min_count=1),
        prepared(tmp_path, USUAL, seed=1),
        prepared(tmp_path, USUAL, split=(0.6, 0.2, 0.2)),
    ]
    assert same[0] == same[1]
    assert len({same[0], *(data.fingerprint for data in others)}) == 1 + len(others)


def test_categories_that_training_has_not_seen_have_a_row(tmp_path: Path) -> None:
    rows = [(*row[:3], f"{place:x}", row[4]) for place, row in enumerate(USUAL)]  # no site comes twice
    data = prepared(tmp_path, rows, min_count=1)
    parts = content(data)
    assert (parts["test"][0][:, 2] == 1).all()
    assert (parts["validation"][0][:, 2] == 1).all()
    assert sorted(parts["train"][0][:, 2]) == list(range(2, 2 + data.rows["train"]))
    assert data.tables[0] == 2 + data.rows["train"]


def test_real_samples(tmp_path: Path, benchmark_data: Path) -> None:
    for name, shape, total in (("criteo", (13, 26), 8000), ("avazu", (1, 23), 8999)):
        log = benchmark_data / f"{name}_sample.parquet"
        data = prepare_clicks(find_layout(name), log, tmp_path / f"{name}.parquet")
        assert (data.dense, data.fields, sum(data.rows.values())) == (*shape, total)
        labels = pq.read_table(log, columns=[find_layout(name).label]).column(0).to_pylist()
        assert sum(data.facts["clicks"].values()) == sum(labels)
    x, _ = next(open_clicks(f"avazu:{tmp_path / 'avazu.parquet'}").batches("train", 8000))
    assert not x[:, 0].any()
    assert x[:, 1].unique().tolist() == [1]  # all of hour 00 (hexadecimal 0, and 1 above the row of missing ones)
    assert x[:, 2].unique().tolist() == [2]  # and of a Tuesday


def test_counts_of_clicks_are_labels_and_optional_columns_may_be_absent(tmp_path: Path) -> None:
    kdd = find_layout("kdd")
    rng = random.Random(0)
    lines = [[str(rng.choice([0, 0, 1, 3])), *(str(rng.randrange(50)) for _ in range(11))] for _ in range(200)]
    (tmp_path / "training.txt").write_text("".join("\t".join(line) + "\n" for line in lines))
    data = prepare_clicks(kdd, tmp_path / "training.txt", tmp_path / "out.parquet")
    assert (data.dense, data.fields) == (3, 10)
    assert sum(data.facts["clicks"].values()) == sum(line[0] != "0" for line in lines)
    assert data.facts["remarks"] == ["missing in every row: gender, age"]
    joined = "".join("\t".join([*line, "1", "4"]) + "\n" for line in lines)
    (tmp_path / "joined.txt").write_text(joined)
    assert not prepare_clicks(kdd, tmp_path / "joined.txt", tmp_path / "out.parquet").facts["remarks"]


def test_rows_without_anything_are_counted(tmp_path: Path) -> None:
    data = prepared(tmp_path, [*USUAL, ("0", None, None, None, None), ("1", None, None, None, None)])
    assert data.facts["remarks"] == ["rows without any number or category: 2"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("0", *row[1:]) for row in USUAL], {}, "The label click is 0 in all 80 rows"),
        ([("1", *row[1:]) for row in USUAL], {}, "The label click is 1 in all 80 rows"),
        ([(row[0], None, None, None, None) for row in USUAL], {}, "are missing in every row"),
        (USUAL[:3], {}, "none of them fell into the"),
        (USUAL, {"split": (0.5, 0.5, 0.5)}, "must add up to 1"),
        (USUAL, {"split": (0.0, 0.5, 0.5)}, "share of train must be above 0"),
        (USUAL, {"split": (0.5, 0.5)}, "shares of train, validation and test"),
        (USUAL, {"hash_rows": 1}, "it must be 2 to 16,777,216"),
        (USUAL, {"hash_rows": 2**24 + 1}, "it must be 2 to 16,777,216"),
        (USUAL, {"min_count": 0}, "min_count is 0; it must be at least 1"),
        (USUAL, {"min_count": 2, "hash_rows": 10}, "Choose one of the two"),
        (USUAL, {"bad_rows": "stpo"}, "Did you mean 'stop'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_left(
    tmp_path: Path, rows: list[logs.Row], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(FirstlightError) as failure:
        prepared(tmp_path, rows, **options)
    assert message in str(failure.value)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["log.csv"])


def test_a_file_that_was_there_stays_when_preparation_fails(tmp_path: Path) -> None:
    before = prepared(tmp_path, USUAL).path.read_bytes()
    with pytest.raises(DataError, match="in all 80 rows"):
        prepared(tmp_path, [("0", *row[1:]) for row in USUAL])
    assert (tmp_path / "out.parquet").read_bytes() == before


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    log = logs.write(tmp_path / "log.csv", USUAL)
    with pytest.raises(DataError, match="there is no folder"):
        prepare_clicks(LAYOUT, log, tmp_path / "none" / "out.parquet")
    with pytest.raises(DataError, match="it is a folder"):
        prepare_clicks(LAYOUT, log, tmp_path)


def test_parts_without_a_share_are_empty(tmp_path: Path) -> None:
    data = prepared(tmp_path, USUAL, split=(1.0, 0.0, 0.0))
    assert data.rows == {"train": 80, "validation": 0, "test": 0}
    assert list(data.batches("test", 4)) == []


def test_a_prepared_file_is_a_plain_table(tmp_path: Path) -> None:
    table = pa.parquet.read_table(prepared(tmp_path, USUAL).path)
    assert table.schema.names == ["price", "age", "site", "user", "label", "part"]
    assert set(table["part"].to_pylist()) == set(PARTS)
