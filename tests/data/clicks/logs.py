"""Logs of clicks for tests: drawn rows, files of every kind, and a plain twin of the preparation."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from firstlight.core.seeds import derive
from firstlight.data.clicks.layouts import find_layout

Row = tuple[str, str | None, str | None, str | None, str | None]
NAMES = ("click", "price", "age", "site", "user")
LAYOUT = find_layout("clicks", "click", ("price", "age"), ("site", "user"))

numbers = st.none() | st.integers(-5, 10**9).map(str) | st.floats(-10, 1e6).map(str)
categories = st.none() | st.sampled_from(["a", "0a", "ff", "xyz"]) | st.text("0123456789abcdefgé -", min_size=1)
rows = st.tuples(st.sampled_from("01"), numbers, numbers, categories, categories)

# enough of both labels in every part, whatever else is drawn
USUAL: list[Row] = [
    (str(place % 2), str(place), None if place % 5 == 0 else str(place / 4), f"{place % 7:x}", f"user {place % 11}")
    for place in range(80)
]


def write(path: Path, found: list[Row]) -> Path:
    """As text or parquet, by the path's ending."""
    if path.suffix == ".parquet":
        kinds = [pa.int8(), pa.float64(), pa.float64(), pa.string(), pa.large_string()]
        reads = [int, float, float, str, str]
        columns = [
            pa.array([None if value is None else read(value) for value in column], kind)
            for column, read, kind in zip(zip(*found, strict=True), reads, kinds, strict=True)
        ]
        pq.write_table(pa.table(columns, names=list(NAMES)), path, row_group_size=33)
        return path
    delimiter = "," if ".csv" in path.name else "\t"
    lines = [NAMES, *found]
    text = "".join(delimiter.join("" if value is None else value for value in line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def code(text: str) -> int:
    try:
        assert len(text) <= 16
        assert set(text) <= set("0123456789abcdefABCDEF")
        return int(text, 16)
    except AssertionError:
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def part(row: int, seed: int = 0) -> str:
    """Of the usual split, by whole numbers of Python."""
    bits = 2**64 - 1
    mixed = (row * 0x9E3779B97F4A7C15 + derive(seed, "parts of clicks")) & bits
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & bits
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & bits
    drawn = ((mixed ^ (mixed >> 31)) >> 11) / 2**53
    return "train" if drawn < 0.8 else "validation" if drawn < 0.9 else "test"


def twin(
    found: list[Row], *, hash_rows: int = 500_000, min_count: int | None = None
) -> dict[str, list[tuple[int, list[float], list[int]]]]:
    """Labels, numbers and rows of tables in each part."""
    known: list[dict[int, int]] = []
    for field in (3, 4):
        training = [row[field] for place, row in enumerate(found) if part(place) == "train"]
        seen = Counter(code(text) for text in training if text is not None)
        frequent = sorted((-count, key) for key, count in seen.items() if min_count and count >= min_count)
        known.append({key: place for place, (_, key) in enumerate(frequent, 2)})

    def table_row(field: int, text: str | None) -> int:
        if text is None:
            return 0
        if min_count is None:
            return code(text) % (hash_rows - 1) + 1
        return known[field].get(code(text), 1)

    parts: dict[str, list[tuple[int, list[float], list[int]]]] = {"train": [], "validation": [], "test": []}
    for place, (label, price, age, site, user) in enumerate(found):
        dense = [0.0 if text is None else math.log(1 + max(float(text), 0.0)) for text in (price, age)]
        parts[part(place)].append((int(label), dense, [table_row(0, site), table_row(1, user)]))
    return parts
