"""Logs as they were published, with all that can be wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.clicks import logs
from tests.data.clicks.logs import LAYOUT, USUAL

from firstlight.core.errors import DataError, UnknownNameError
from firstlight.data.clicks import raw
from firstlight.data.clicks.layouts import find_layout
from firstlight.data.clicks.raw import BadRows, category_code, read_rows

HEADER = "click,price,age,site,user\n"
GOOD = "1,2,3,a,b\n"


def read(path: Path, treatment: str = "skip") -> tuple[int, BadRows]:
    bad = BadRows(treatment)
    return sum(map(len, read_rows(path, LAYOUT, bad))), bad


def text(folder: Path, content: str) -> Path:
    path = folder / "log.csv"
    path.write_bytes(content.encode())
    return path


BROKEN = [
    ("1,2,3,a\n", "4 columns, expected 5: '1,2,3,a'"),
    ("1,2,3,a,b,c\n", "6 columns, expected 5: '1,2,3,a,b,c'"),
    ("1\n", "1 column, expected 5: '1'"),
    ("1,2,three,a,b\n", "age is 'three', which is not a number"),
    ("1,1e999,3,a,b\n", "price is '1e999', which is not a number"),
    (",2,3,a,b\n", "the label click is missing; it must be 0 or 1"),
    ("2,2,3,a,b\n", "the label click is 2; it must be 0 or 1"),
    ("yes,2,3,a,b\n", "click is 'yes', which is not a number"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN)
@pytest.mark.parametrize("size", [10, 1 << 20])
def test_a_bad_row_is_skipped_or_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, reason: str, size: int
) -> None:
    monkeypatch.setattr(raw, "BLOCK_BYTES", size)
    path = text(tmp_path, HEADER + GOOD + line + GOOD)
    count, bad = read(path)
    assert (count, bad.count, bad.examples) == (2, 1, [f"line 3: {reason}"])
    with pytest.raises(DataError) as failure:
        read(path, "stop")
    assert f"line 3: {reason}" in str(failure.value)
    assert "--bad-rows skip" in str(failure.value)


@pytest.mark.parametrize("size", [8, 30, 1 << 20])
def test_lines_are_counted_past_empty_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(raw, "BLOCK_BYTES", size)
    path = text(tmp_path, f"{HEADER}\n{GOOD}\r\n\n{GOOD}1,2\n\n{GOOD}x,2,3,a,b\n1\n1\n\n")
    count, bad = read(path)
    assert (count, bad.count) == (3, 4)
    assert [example.partition(":")[0] for example in bad.examples] == ["line 7", "line 10", "line 11"]
    assert str(bad).endswith("and 1 more")


def test_a_long_bad_row_is_shown_in_short(tmp_path: Path) -> None:
    _, bad = read(text(tmp_path, HEADER + GOOD + "x" * 500 + "\n"))
    assert bad.examples == ["line 3: 1 column, expected 5: '" + "x" * 57 + "...'"]


def test_progress_is_in_bytes_and_arrives(tmp_path: Path) -> None:
    for ending in (".csv", ".csv.gz", ".parquet"):
        path = logs.write(tmp_path / f"log{ending}", USUAL)
        told: list[tuple[int, int]] = []
        list(read_rows(path, LAYOUT, BadRows(), lambda done, total, told=told: told.append((done, total))))
        assert told[-1] == (path.stat().st_size,) * 2
        assert told == sorted(told)


def test_only_a_block_is_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "BLOCK_BYTES", 100)
    monkeypatch.setattr(raw, "BLOCK_ROWS", 5)
    for ending in (".csv", ".csv.gz", ".parquet"):
        blocks = [len(rows) for rows in read_rows(logs.write(tmp_path / f"log{ending}", USUAL), LAYOUT, BadRows())]
        assert sum(blocks) == len(USUAL)
        assert max(blocks) <= 10


def test_numbers_of_parquet_may_be_text_and_categories_numbers(tmp_path: Path) -> None:
    columns = {
        "click": [0, 1, 0],
        "price": ["1.5", "", None],
        "age": pa.array(["7", "8", "7"]).dictionary_encode(),
        "site": [1005, None, 10],
        "user": pa.array(["b", None, ""]).dictionary_encode(),
        "unused": [1, 2, 3],
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    (rows,) = read_rows(tmp_path / "log.parquet", LAYOUT, BadRows())
    np.testing.assert_array_equal(rows.numbers, [[1.5, 7], [np.nan, 8], [np.nan, 7]])
    assert rows.categories[:, 0].tolist() == [0x1005, 0, 0x10]
    assert rows.missing.tolist() == [[False, False], [True, True], [False, True]]


def test_criteo_as_published_has_no_header(tmp_path: Path) -> None:
    line = "\t".join(["0", "1", "", "-2", *"0" * 10, "68fd1e64", *[""] * 25])
    (tmp_path / "train.txt").write_text(f"{line}\n{line}\n")
    (rows,) = read_rows(tmp_path / "train.txt", find_layout("criteo"), BadRows())
    assert len(rows) == 2
    assert rows.numbers[0, :3].tolist() == pytest.approx([1, np.nan, -2], nan_ok=True)
    assert rows.categories[0, 0] == 0x68FD1E64


def test_the_last_line_needs_no_end_and_names_may_be_quoted(tmp_path: Path) -> None:
    path = text(tmp_path, '\ufeff"click","price","age","site","user"\n1,2,3,"a,b",c\n0,1,1,d,e')
    rows = list(read_rows(path, LAYOUT, BadRows()))
    assert sum(map(len, rows)) == 2
    assert rows[0].categories[0, 0] == category_code("a,b")


def test_codes_are_values_of_hexadecimal_numbers_or_hashes() -> None:
    assert [category_code(text) for text in ("0", "a", "0A", "68fd1e64", "f" * 16)] == [
        0,
        10,
        10,
        0x68FD1E64,
        2**64 - 1,
    ]
    hashed = {category_code(text) for text in ("f" * 17, "xyz", "1_0", " 1", "-1", "é", "٣")}
    assert len(hashed) == 7
    assert min(hashed) > 2**32
    assert max(hashed) < 2**64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "no header with a column 'click'"),
        (HEADER.encode(), "has no row that can be read"),
        (b"a,b,c\n1,2,3\n", "no header with a column 'click'. Its first line begins: a, b, c."),
        (
            b"click,price,site\n1,2,3\n",
            "has no column age, user, which the layout 'clicks' needs. It has: click, price",
        ),
        (b"click,price,age,site,user,user\n1,2,3,4,5,6\n", "more than one column 'user'"),
        (HEADER.encode() + b"1,2,3,\xff,b\n", "cannot be read to the end"),
        (gzip.compress(HEADER.encode() + 100 * GOOD.encode(), mtime=0)[:-20], "cannot be read to the end"),
        (gzip.compress(b"", mtime=0), "no header with a column 'click'"),
        (b"PAR1 and so on", "cannot be read to the end"),
        ((HEADER + "1,2\n" * 4).encode(), "has no row that can be read. 4 rows are bad:"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(DataError) as failure:
        read(tmp_path / "log")
    assert message in str(failure.value)


def test_a_file_without_lines_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "BLOCK_BYTES", 10)
    monkeypatch.setattr(raw, "LONGEST_LINE", 100)
    with pytest.raises(DataError, match="is it a text file"):
        read(text(tmp_path, "x" * 200))


def test_columns_of_parquet_that_hold_something_else(tmp_path: Path) -> None:
    columns = {name: [[1, 2], [3]] if name == "age" else ["1", "0"] for name in logs.NAMES}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(DataError, match=r"The column age of .* expected numbers"):
        read(tmp_path / "log.parquet")
    columns = {name: [[1, 2], [3]] if name == "user" else ["1", "0"] for name in logs.NAMES}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(DataError, match=r"The column user of .* expected categories"):
        read(tmp_path / "log.parquet")


def test_no_file_and_no_such_treatment(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"is a folder\. Name a file"):
        read(tmp_path)
    with pytest.raises(UnknownNameError, match="Did you mean 'skip'"):
        BadRows("skipp")


@pytest.mark.parametrize("row", [b"1,\xed\xa0\x80\n", b"1,2,3,\xff,b\n"])
def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path, row: bytes) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER.encode() + GOOD.encode() + row + GOOD.encode())
    with pytest.raises(DataError, match=r"log.csv cannot be read to the end: line 3 is not UTF-8 text"):
        read(path)
