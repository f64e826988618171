"""Prepare a click log of any size: write one file that networks can be trained on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.core.errors import SettingError
from firstlight.data.clicks.categories import PUBLISHED_ROWS, Categories, Hashed, Vocabulary
from firstlight.data.clicks.errors import ClickLogError
from firstlight.data.clicks.layouts import Layout
from firstlight.data.clicks.parts import PARTS, PUBLISHED_SPLIT, check_split, part_of
from firstlight.data.clicks.prepared import FORM, ClickData, open_prepared
from firstlight.data.clicks.raw import STOP, BadRows, Progress, Rows, read_rows
from firstlight.data.clicks.writing import Prepared, PreparedFile
from firstlight.data.samples import Array


def prepare_clicks(
    layout: Layout,
    path: str | Path,
    out: str | Path,
    *,
    hash_rows: int | None = None,
    min_count: int | None = None,
    split: Sequence[float] = PUBLISHED_SPLIT,
    seed: int = 0,
    bad_rows: str = STOP,
    phase: Callable[[str], Progress] | None = None,
) -> ClickData:
    """Read a click log and write a prepared file, completely or not at all.

    A number x becomes ln(1 + max(x, 0)), and 0 if it is missing.

    Args:
        layout: The columns of the log.
        path: The log: text, plain or gzip, or parquet.
        out: The prepared file to write.
        hash_rows: Rows of each field's table, to which categories are hashed (default: 500,000, as published).
        min_count: Give categories that occur at least this often in the training set their own rows, instead of
            hashing. The log is then read twice.
        split: Shares of train, validation and test.
        seed: Seed of the split.
        bad_rows: "stop" at rows that cannot be read, or "skip" them.
        phase: Called with the name of each phase; returns the function to call with its progress.

    Returns:
        The prepared data.

    Raises:
        SettingError: If both `hash_rows` and `min_count` are given, or a value is out of range.
        MissingFileError: If there is no such log.
        ClickLogError: If the log cannot be read in its layout, or nothing can be learned from it.
    """
    path, out = Path(path).expanduser(), Path(out).expanduser()
    check_split(split)
    if hash_rows is not None and min_count is not None:
        raise SettingError("Categories are either hashed (hash_rows) or counted (min_count). Choose one of the two.")

    def rows_and_parts(what: str, bad: BadRows) -> Iterator[tuple[Rows, Array]]:
        first = 0
        for rows in read_rows(path, layout, bad, None if phase is None else phase(what)):
            yield rows, part_of(first, len(rows), split, seed)
            first += len(rows)

    bad, census = BadRows(bad_rows), _Census(layout)
    with PreparedFile(out, layout) as file:
        categories: Categories
        if min_count is None:
            categories = Hashed(len(layout.categories), PUBLISHED_ROWS if hash_rows is None else hash_rows)
        else:
            categories = vocabulary = Vocabulary(len(layout.categories), min_count)
            for rows, parts in rows_and_parts("counting categories", BadRows(bad_rows)):
                training = parts == PARTS.index("train")
                vocabulary.learn(rows.categories[training], rows.missing[training])
            vocabulary.close()
        for rows, parts in rows_and_parts("preparing", bad):
            prepared = rows.labels, _logarithms(rows, layout), categories.rows(rows.categories, rows.missing)
            census.add(rows, parts, prepared)
            file.add(parts, prepared)
        census.check(path, split)
        how = {"hash_rows": categories.tables[0]} if min_count is None else {"min_count": min_count}
        facts = {
            "form": FORM,
            "layout": layout.name,
            "numbers": layout.numbers,
            "categories": layout.categories,
            "tables": categories.tables,
            "rows": dict(zip(PARTS, census.rows, strict=True)),
            "clicks": dict(zip(PARTS, census.clicks, strict=True)),
            "options": {**how, "split": tuple(split), "seed": seed},
        }
        file.finish(
            {
                **facts,
                "fingerprint": census.fingerprint(facts),
                "bad_rows": {"count": bad.count, "examples": bad.examples},
                "remarks": census.remarks(),
            }
        )
    return open_prepared(out)


def _logarithms(rows: Rows, layout: Layout) -> Array:
    if not layout.numbers:
        return np.zeros((len(rows), layout.dense), np.float32)
    logarithms: Array = np.log1p(np.maximum(np.nan_to_num(rows.numbers, nan=0.0), 0)).astype(np.float32)
    return logarithms


class _Census:
    """Counts over all rows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.rows, self.clicks = [0] * len(PARTS), [0] * len(PARTS)
        self._missing = np.zeros(len(layout.numbers) + len(layout.categories), np.int64)
        self._empty = 0
        # one for each array, so that the size of the blocks does not matter
        self._contents = [hashlib.blake2b(digest_size=16) for _ in range(4)]

    def add(self, rows: Rows, parts: Array, prepared: Prepared) -> None:
        for place in range(len(PARTS)):
            self.rows[place] += int((parts == place).sum())
            self.clicks[place] += int(rows.labels[parts == place].sum())
        missing = np.concatenate([np.isnan(rows.numbers), rows.missing], 1)
        self._missing += missing.sum(0)
        self._empty += int(missing.all(1).sum())
        for content, array in zip(self._contents, (parts, *prepared), strict=True):
            content.update(np.ascontiguousarray(array).tobytes())

    def fingerprint(self, facts: dict[str, Any]) -> str:
        """Return a hash of the content, which does not depend on the names of the files."""
        known = json.dumps(facts, sort_keys=True) + "".join(content.hexdigest() for content in self._contents)
        return hashlib.blake2b(known.encode(), digest_size=8).hexdigest()

    def check(self, path: Path, split: Sequence[float]) -> None:
        total, clicks = sum(self.rows), sum(self.clicks)
        if clicks in (0, total):
            raise ClickLogError(
                f"The label {self._layout.label} is {int(clicks > 0)} in all {total:,} rows of {path}, so nothing can "
                "be learned. Check that it is the right column and that the log has rows of both classes."
            )
        if self._empty == total:
            raise ClickLogError(
                f"All numbers and categories of {path} are missing in every row. Check the layout and the columns."
            )
        for part, share, rows, clicked in zip(PARTS, split, self.rows, self.clicks, strict=True):
            if share and not rows:
                raise ClickLogError(
                    f"{path} has {total:,} rows, and none of them fell into the {part} set ({share:g} of all). Use a "
                    "larger share or log."
                )
            if part == "train" and clicked in (0, rows):
                raise ClickLogError(
                    f"All {rows:,} rows of the training set have the same label. {path} has too few rows."
                )

    def remarks(self) -> list[str]:
        names = (*self._layout.numbers, *self._layout.categories)
        absent = [name for name, missing in zip(names, self._missing, strict=True) if missing == sum(self.rows)]
        said = [f"missing in every row: {', '.join(absent)}"] if absent else []
        return [*said, *([f"rows without any number or category: {self._empty:,}"] if self._empty else [])]
