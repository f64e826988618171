"""Read a click log block by block: text, plain or gzip, or parquet."""

from __future__ import annotations

import gzip
import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from firstlight.core.errors import MissingFileError, UnknownNameError
from firstlight.data.clicks.errors import ClickLogError
from firstlight.data.clicks.layouts import Layout
from firstlight.data.samples import Array

Progress = Callable[[int, int], None]  # called with the amount done and the total

BLOCK_BYTES = 1 << 23
BLOCK_ROWS = 1 << 16
LONGEST_LINE = 1 << 26
STOP, SKIP = BAD_ROWS = ("stop", "skip")


@dataclass(frozen=True)
class Rows:
    """Some rows: labels 0 or 1, numbers (NaN if missing), and a code for each category (0 if missing)."""

    labels: Array
    numbers: Array
    categories: Array
    missing: Array

    def __len__(self) -> int:
        return len(self.labels)


@dataclass
class BadRows:
    """Rows that cannot be read. They are skipped, or reading stops at the first block that has some."""

    treatment: str = STOP
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.treatment not in BAD_ROWS:
            raise UnknownNameError("treatment of bad rows", self.treatment, BAD_ROWS)

    def add(self, path: Path, found: dict[int, str]) -> None:
        self.count += len(found)
        self.examples += [f"line {line:,}: {found[line]}" for line in sorted(found)][: 3 - len(self.examples)]
        if found and self.treatment == STOP:
            raise ClickLogError(
                f"{path} has rows that cannot be read:\n{self}\nFix them, or skip them with --bad-rows skip."
            )

    def __str__(self) -> str:
        more = self.count - len(self.examples)
        return "\n".join([*(f"  {example}" for example in self.examples), *([f"  and {more:,} more"] if more else [])])


def read_rows(path: Path, layout: Layout, bad: BadRows, progress: Progress | None = None) -> Iterator[Rows]:
    """Yield all valid rows in the order of the file, in blocks; `progress` is called with bytes."""
    report = progress or (lambda done, total: None)
    with _readable(path):
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(0)
            if not start:
                raise ClickLogError(f"{path} is empty.")
            if start == b"PAR1":
                blocks = _parquet_blocks(path, file, layout)
            else:
                packed = start.startswith(b"\x1f\x8b")
                blocks = _text_blocks(path, gzip.GzipFile(fileobj=file) if packed else file, layout)
            yield from _good_rows(path, blocks, layout, bad, lambda: report(file.tell(), size))
            report(size, size)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise MissingFileError(
            f"There is no file {path}." if not path.is_dir() else f"{path} is a folder. Name a file."
        )
    try:
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise ClickLogError(f"{path} cannot be read to the end: {str(error) or type(error).__name__}") from error


@dataclass(frozen=True)
class _Block:
    """A table with the needed columns, the line of each row, and the lines with too few or too many columns."""

    table: Any
    lines: Array
    bad: dict[int, str]


def _good_rows(
    path: Path, blocks: Iterator[_Block], layout: Layout, bad: BadRows, report: Callable[[], None]
) -> Iterator[Rows]:
    seen = False
    for block in blocks:
        found = dict(block.bad)
        rows = _converted(path, block, layout, found)
        bad.add(path, found)
        report()
        if len(rows):
            seen = True
            yield rows
    if not seen:
        raise ClickLogError(
            f"{path} has no row that can be read." + (f" {bad.count:,} rows are bad:\n{bad}" if bad.count else "")
        )


def _converted(path: Path, block: _Block, layout: Layout, found: dict[int, str]) -> Rows:
    """Return the valid rows of a block, and add to `found` why the others are not valid."""

    def column(name: str) -> Any:
        if name not in block.table.column_names:  # an optional one
            return pa.nulls(len(block.table), pa.string())
        return block.table.column(name).combine_chunks()

    def numbers(name: str) -> Array:
        values, wrong = _numbers(path, name, column(name))
        found.update({int(block.lines[place]): f"{name} is {text!r}, which is not a number" for place, text in wrong})
        return values

    labels = numbers(layout.label)
    for place in np.flatnonzero(~((labels >= 0) if layout.counts else np.isin(labels, (0, 1)))):
        shown = "missing" if math.isnan(labels[place]) else f"{labels[place]:g}"
        allowed = "a number of clicks" if layout.counts else "0 or 1"
        found.setdefault(int(block.lines[place]), f"the label {layout.label} is {shown}; it must be {allowed}")
    dense = [numbers(name) for name in layout.numbers]
    good = ~np.isin(block.lines, list(found)) if found else slice(None)
    texts = (layout.category(name, lambda name: _as_text(path, name, column(name))) for name in layout.categories)
    codes, missing = zip(*map(category_codes, texts), strict=True)
    nothing = np.empty((len(labels), 0))
    return Rows(
        (labels > 0).astype(np.uint8)[good],
        (np.stack(dense, 1) if dense else nothing)[good],
        np.stack(codes, 1)[good],
        np.stack(missing, 1)[good],
    )


def _numbers(path: Path, name: str, column: Any) -> tuple[Array, list[tuple[int, str]]]:
    """Return the numbers, NaN if missing, and the index and text of each entry that is not a finite number."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        found = pc.cast(column, pa.float64(), safe=False)
    except pa.ArrowInvalid:  # some text is not a number
        texts = column.to_pylist()
        values = np.array([_number(text) for text in texts])
    except pa.ArrowNotImplementedError:
        raise ClickLogError(f"The column {name} of {path} holds {column.type}; expected numbers.") from None
    else:
        texts, values = column, found.to_numpy(zero_copy_only=False)
    return values, [(int(place), str(texts[place])) for place in np.flatnonzero(np.isinf(values))]


def _number(text: str | None) -> float:
    """Convert text; infinity stands for text that is not a number, and is refused like it."""
    try:
        return math.nan if text is None or text == "" else float(text)
    except ValueError:
        return math.inf


def _as_text(path: Path, name: str, column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return pc.cast(column, pa.string())
    except pa.ArrowNotImplementedError:
        raise ClickLogError(f"The column {name} of {path} holds {column.type}; expected categories.") from None


def category_codes(texts: Any) -> tuple[Array, Array]:
    """Return a code for each text, and a mask of the missing ones."""
    encoded = pc.dictionary_encode(texts)
    different = encoded.dictionary.to_pylist()
    codes = np.array([*map(category_code, different), 0], dtype=np.uint64)  # the last is for missing texts
    empty = np.array([*(text == "" for text in different), True])
    places = pc.fill_null(encoded.indices, len(different)).to_numpy(zero_copy_only=False)
    return codes[places], empty[places]


def category_code(text: str) -> int:
    """Return the value of a hexadecimal number of up to 16 digits, or a 64-bit hash of other text."""
    if len(text) <= 16 and text.isascii() and text.isalnum():
        try:
            return int(text, 16)
        except ValueError:
            pass
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") if text else 0


def _parquet_blocks(path: Path, file: BinaryIO, layout: Layout) -> Iterator[_Block]:
    parquet = pq.ParquetFile(file)
    columns = _check_columns(path, layout, parquet.schema_arrow.names)
    first = 1
    for batch in parquet.iter_batches(batch_size=BLOCK_ROWS, columns=columns):
        yield _Block(pa.table(batch), np.arange(first, first + len(batch)), {})
        first += len(batch)


def _text_blocks(path: Path, stream: BinaryIO | gzip.GzipFile, layout: Layout) -> Iterator[_Block]:
    blocks = _whole_lines(path, stream)
    block = next(blocks, b"")
    start, _, _ = block.partition(b"\n")
    delimiter = "\t" if b"\t" in start else ","
    fields = start.decode("utf-8-sig", errors="replace").rstrip("\r").split(delimiter)
    names = [name.strip('" ') for name in fields]
    line = 1
    if layout.label in names:
        block, line = block[len(start) + 1 :], 2
    elif not layout.columns:
        raise ClickLogError(
            f"{path} has no header with a column {layout.label!r}. Its first line begins: {', '.join(names)[:200]}."
        )
    else:
        few = len(layout.columns) - len(layout.optional)
        names = list(layout.columns[:few] if len(names) == few else layout.columns)
    columns = _check_columns(path, layout, names)
    for lines in itertools.chain([block], blocks):
        yield _parsed(lines, delimiter, names, columns, line)
        line += lines.count(b"\n")


def _check_columns(path: Path, layout: Layout, names: list[str]) -> list[str]:
    """Return the columns to read; raise `ClickLogError` if one is absent or occurs twice."""
    absent = [name for name in layout.needed if name not in names and name not in layout.optional]
    if absent:
        raise ClickLogError(
            f"{path} has no column {', '.join(absent[:5])}{' ...' if len(absent) > 5 else ''}, which the layout "
            f"{layout.name!r} needs. It has: {', '.join(names)[:300]}."
        )
    twice = [name for name in layout.needed if names.count(name) > 1]
    if twice:
        raise ClickLogError(f"{path} has more than one column {twice[0]!r}.")
    return [name for name in layout.needed if name in names]


def _whole_lines(path: Path, stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    rest = b""
    while piece := stream.read(BLOCK_BYTES):
        lines, newline, behind = piece.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = behind
        else:
            rest += piece
            if len(rest) > LONGEST_LINE:
                raise ClickLogError(f"{path} has a line of more than {LONGEST_LINE:,} bytes; is it a text file?")
    if rest:
        yield rest


def _parsed(block: bytes, delimiter: str, names: list[str], columns: list[str], first: int) -> _Block:
    """Parse lines into rows; those with the wrong number of columns are reported as bad."""
    _refuse_other_encodings(block, first)
    refused: dict[int, str] = {}

    def refuse(row: Any) -> str:
        count, shown = row.actual_columns, row.text if len(row.text) <= 60 else f"{row.text[:57]}..."
        refused[row.number - 1] = f"{count} column{'' if count == 1 else 's'}, expected {len(names)}: {shown!r}"
        return "skip"

    if block.strip(b"\r\n"):
        table = pa.csv.read_csv(
            pa.py_buffer(block),
            read_options=pa.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if delimiter == "," else False,
                invalid_row_handler=refuse,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[""],
            ),
        )
    else:
        table = pa.table({name: pa.array([], pa.string()) for name in columns})
    lines = _lines(block, first, len(table) + len(refused))
    good = np.ones(len(lines), dtype=bool)
    good[list(refused)] = False
    return _Block(table, lines[good], {int(lines[place]): reason for place, reason in refused.items()})


def _refuse_other_encodings(block: bytes, first: int) -> None:
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError as error:
            line = first + block.count(b"\n", 0, error.start)
            raise pa.ArrowInvalid(f"line {line:,} is not UTF-8 text; convert the file.") from error


def _lines(block: bytes, first: int, count: int) -> Array:
    """Return the numbers of the lines that are not empty."""
    if block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block:
        lines = [place for place, text in enumerate(block.split(b"\n"), first) if text.rstrip(b"\r")]
        if len(lines) == count:
            return np.array(lines, dtype=np.int64)
    return np.arange(first, first + count)
