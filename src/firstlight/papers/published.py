"""Read the figures that papers print from `published/*.toml`.

Each paper has one file, and each table or figure of the paper is one table of the file:

    reference = "Shu2022nasi"            # a key of `REFERENCES`

    [table2]
    source = "NASI Table 2"              # where the figures are printed
    title = "Test error, %, of the networks found"
    columns = ["NB-1Shot1 S1", "NB-1Shot1 S2", "NB-1Shot1 S3"]
    remarks = ["What a reader must know about these figures, or what has not been entered."]

    [table2.rows]
    "true labels" = [7.3, "7.2 ± 0.1", "-"]

A row has one value for each column: a number, `"7.2 ± 0.1"` with a spread, `"0.94..0.95"` for a range, or `"-"` where
the paper prints nothing. Columns that are benchmarks have the names of `benchmarks.py`. A table without `columns` and
`rows` stands for one whose figures have not been entered.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from firstlight.core.errors import DataError, UnknownNameError
from firstlight.core.references import REFERENCES
from firstlight.papers.base import Published

ENDING = ".toml"
NOTHING = "-"
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})")
_WITH_SPREAD = re.compile(rf"({_NUMBER})\s*±\s*({_NUMBER})")
_KEYS = {"source", "title", "columns", "rows", "remarks"}


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper.

    Attributes:
        source: Where the figures are printed, such as "Dextr Table 1".
        reference: The paper, as a key of `REFERENCES`.
        title: What the table shows.
        columns: What the values of a row are of: benchmarks, or settings.
        rows: The values by the name of the row, None where the paper prints none.
        remarks: What a reader must know about the figures.
    """

    source: str
    reference: str
    title: str
    columns: tuple[str, ...] = ()
    rows: Mapping[str, tuple[Published | None, ...]] = field(default_factory=dict, hash=False)
    remarks: tuple[str, ...] = ()

    def at(self, row: str, column: str) -> Published | None:
        """Return a figure, or None if the paper prints none or has no such column.

        Args:
            row: The name of a row.
            column: The name of a column. An experiment may measure more benchmarks than the paper.

        Raises:
            UnknownNameError: If the table has no such row.
        """
        if row not in self.rows:
            raise UnknownNameError(f"row of {self.source}", row, self.rows)
        return self.rows[row][self.columns.index(column)] if column in self.columns else None


class Paper(Mapping[str, PublishedTable]):
    """The tables and figures of a paper by their keys, such as "table1"."""

    def __init__(self, file: str, reference: str, tables: Mapping[str, PublishedTable]) -> None:
        self.file, self.reference, self._tables = file, reference, dict(tables)

    def __getitem__(self, key: str) -> PublishedTable:
        if key not in self._tables:
            raise UnknownNameError(f"table in {self.file}", key, self._tables)
        return self._tables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


@cache
def read_paper(name: str) -> Paper:
    """Return the published figures of a paper.

    Args:
        name: "dextr", "hnas", "nasi" or "sigeo": a file of `published/`.

    Raises:
        UnknownNameError: If there is no such file.
        DataError: If the file is not of the format above; the message names the file and the key.

    Example:
        >>> str(read_paper("dextr")["table4"].at("Zen", "NB201 CIFAR-10"))
        '0.33'
    """
    files = {entry.name: entry for entry in (resources.files("firstlight.papers") / "published").iterdir()}
    file = f"{name}{ENDING}"
    if file not in files:
        raise UnknownNameError("file of published figures", file, files)
    return parse_paper(file, files[file].read_text(encoding="utf-8"))


def parse_paper(file: str, text: str) -> Paper:
    """Return the published figures that a text of the format above holds; errors name the `file`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file} is not valid TOML: {error}.") from error
    reference = _text(file, content, "reference")
    if reference not in REFERENCES:
        raise DataError(f"{file}: reference is {reference!r}, which is not a key of REFERENCES.")
    entries = {key: entry for key, entry in content.items() if key != "reference"}
    for key, entry in entries.items():
        if not isinstance(entry, dict):
            raise DataError(f"{file}: {key} is not a table. A file has `reference` and tables.")
    tables = {key: _read_table(f"{file}: {key}", reference, entry) for key, entry in entries.items()}
    return Paper(file, reference, tables)


def _read_table(place: str, reference: str, entry: Mapping[str, Any]) -> PublishedTable:
    if unknown := sorted(set(entry) - _KEYS):
        raise DataError(f"{place}.{unknown[0]} is unknown. A table has {', '.join(sorted(_KEYS))}.")
    columns, rows = _texts(place, entry, "columns"), entry.get("rows", {})
    if not isinstance(rows, dict) or bool(columns) != bool(rows):
        raise DataError(f"{place} needs both columns and rows, or neither if its figures have not been entered.")
    if len(set(columns)) < len(columns):
        raise DataError(f"{place}.columns names a column twice: {', '.join(columns)}.")
    source = _text(place, entry, "source")
    read = {name: _read_row(f"{place}.rows.{name!r}", source, columns, values) for name, values in rows.items()}
    return PublishedTable(
        source, reference, _text(place, entry, "title"), columns, read, _texts(place, entry, "remarks")
    )


def _read_row(place: str, source: str, columns: tuple[str, ...], values: Any) -> tuple[Published | None, ...]:
    if not isinstance(values, list) or len(values) != len(columns):
        given = len(values) if isinstance(values, list) else repr(values)
        raise DataError(
            f"{place} needs {len(columns)} values, one for each column ({', '.join(columns)}), not {given}."
        )
    return tuple(
        _read_value(f"{place}, column {column!r}", source, value) for column, value in zip(columns, values, strict=True)
    )


def _read_value(place: str, source: str, value: Any) -> Published | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return Published(source, float(value), float(value))
    if value == NOTHING:
        return None
    text = value if isinstance(value, str) else ""
    if found := _WITH_SPREAD.fullmatch(text):
        middle, spread = map(float, found.groups())
        return Published(source, middle, middle, spread)
    if found := _RANGE.fullmatch(text):
        low, high = map(float, found.groups())
        if low <= high:
            return Published(source, low, high)
    raise DataError(
        f'{place} is {value!r}. Write a number, "0.94..0.95" for a range, "93.1 ± 0.2" with a spread, or "{NOTHING}" '
        "where the paper prints nothing."
    )


def _text(place: str, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise DataError(
            f"{place} needs {key}, a text." if value is None else f"{place}: {key} is {value!r}, not a text."
        )
    return value


def _texts(place: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise DataError(f"{place}: {key} is {value!r}, not a list of texts.")
    return tuple(value)
