"""Write prepared files: parquet with row groups of up to 65,536 rows of one part, and metadata as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firstlight.data.clicks.errors import ClickLogError
from firstlight.data.clicks.layouts import Layout
from firstlight.data.clicks.parts import PARTS
from firstlight.data.clicks.prepared import METADATA
from firstlight.data.samples import Array

GROUP_ROWS = 1 << 16
# labels, numbers, and rows of the tables
Prepared = tuple[Array, Array, Array]


class PreparedFile:
    """A file that takes rows in blocks of any size. It gets its name when it is finished, and is deleted otherwise."""

    def __init__(self, path: Path, layout: Layout) -> None:
        if not path.parent.is_dir():
            raise ClickLogError(f"{path} cannot be written: there is no folder {path.parent}.")
        if path.is_dir():
            raise ClickLogError(f"{path} cannot be written: it is a folder.")
        self._path, self._unfinished = path, path.with_name(f"{path.name}.unfinished")
        dense, categories = layout.numbers or ("zero",), layout.categories
        self._schema = pa.schema(
            [
                *((name, pa.float32()) for name in dense),
                *((name, pa.int32()) for name in categories),
                ("label", pa.uint8()),  # after the columns of the log, one of which may have this name
                ("part", pa.string()),
            ]
        )
        self._waiting: list[list[Prepared]] = [[] for _ in PARTS]

    def __enter__(self) -> PreparedFile:
        try:
            # checksums reveal later changes; pyarrow would take a relative name with a colon for an address
            self._writer = pq.ParquetWriter(
                self._unfinished.absolute(), self._schema, compression="zstd", write_page_checksum=True
            )
        except (OSError, UnicodeError) as error:  # a name may not be valid UTF-8
            raise ClickLogError(f"{self._path} cannot be written: {error}. Choose another file.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._unfinished.unlink(missing_ok=True)

    def add(self, parts: Array, rows: Prepared) -> None:
        for place, waiting in enumerate(self._waiting):
            chosen = parts == place
            labels, dense, ids = rows
            waiting.append((labels[chosen], dense[chosen], ids[chosen]))
            if sum(len(labels) for labels, _, _ in waiting) >= GROUP_ROWS:
                self._write(place, GROUP_ROWS)

    def finish(self, metadata: dict[str, Any]) -> None:
        for place in range(len(PARTS)):
            self._write(place, 1)
        try:
            self._writer.add_key_value_metadata({METADATA: json.dumps(metadata)})
            self._writer.close()
            os.replace(self._unfinished, self._path)
        except OSError as error:
            raise ClickLogError(f"{self._path} cannot be written: {error}") from error

    def _write(self, place: int, at_least: int) -> None:
        """Write the waiting rows of a part, except for a last group of fewer than `at_least` rows."""
        labels, dense, ids = map(np.concatenate, zip(*self._waiting[place], strict=True))
        start = 0
        while len(labels) - start >= at_least:
            chosen = slice(start, min(start + GROUP_ROWS, len(labels)))
            start = chosen.stop
            count = len(labels[chosen])
            columns = [*dense[chosen].T.copy(), *ids[chosen].T.copy(), labels[chosen], pa.repeat(PARTS[place], count)]
            try:
                self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=GROUP_ROWS)
            except OSError as error:
                raise ClickLogError(f"{self._path} cannot be written: {error}") from error
        self._waiting[place] = [(labels[start:], dense[start:], ids[start:])]
