"""Prepared click data: opened by name and read in batches, never all at once."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from firstlight.core.errors import MissingFileError, SettingError, UnknownNameError
from firstlight.core.seeds import derive
from firstlight.data.clicks.errors import ClickLogError
from firstlight.data.clicks.layouts import GENERAL, LAYOUTS
from firstlight.data.clicks.parts import PARTS, scattered
from firstlight.data.samples import Array
from firstlight.data.sources import KINDS, FileBacked, data_kind

METADATA = "firstlight"
FORM = 1  # version of the format of prepared files


@dataclass(frozen=True)
class ClickData(FileBacked):
    """A prepared file. Each row has `dense` numbers, `fields` categories, and a label: 1 for a click.

    Attributes:
        name: Name of the source, such as "criteo:FILE".
        title: Name of the layout.
        path: The file.
        dense: Numbers in a row.
        tables: Rows of each field's table: how many different values its categories have.
        rows: Number of rows of each part.
        fingerprint: A text that changes with the content.
        facts: The metadata of the file.
    """

    name: str
    title: str
    path: Path
    dense: int
    tables: tuple[int, ...]
    rows: dict[str, int]
    fingerprint: str
    facts: dict[str, Any]

    def __len__(self) -> int:
        """Rows of the training set."""
        return self.rows["train"]

    @property
    def classes(self) -> int:
        return 2

    @property
    def fields(self) -> int:
        return len(self.tables)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.dense + self.fields,)

    @property
    def skeleton(self) -> dict[str, Any]:
        """Settings of a skeleton, besides the shape, that follow from the data."""
        return {"dense": self.dense, "categories": self.tables}

    def draw(self, count: int, *, seed: int) -> tuple[Tensor, Tensor]:
        """Return `count` random rows of the training set, and their labels.

        They are read from as few row groups as possible, so that a file of any size is opened quickly.
        """
        size = min(count, 1024)
        drawn = itertools.islice(self.batches("train", size, seed=seed), math.ceil(count / size))
        x, y = map(torch.cat, zip(*drawn, strict=True))
        return x[:count], y[:count]

    def count(self, part: str, share: float = 1.0) -> int:
        """Return the number of rows in a share of a part."""
        self._check(part, share)
        return round(self.rows[part] * share)

    def batches(
        self,
        part: str,
        size: int,
        *,
        seed: int | None = None,
        share: float = 1.0,
        share_seed: int = 0,
        whole: bool = False,
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all rows of a part in batches.

        At most one row group of 65,536 rows, and the rest of another, are in memory at a time.

        Args:
            part: "train", "validation" or "test".
            size: Rows in a batch.
            seed: Seed that shuffles the row groups, and the rows of each; None keeps the order of the log.
            share: Share of the rows to read, above 0 and at most 1.
            share_seed: Seed that selects these rows, independently of their order.
            whole: Leave out a last batch that is not full.

        Yields:
            Inputs of shape (size, dense + fields), numbers first, as floats; and labels of shape (size,).

        Raises:
            UnknownNameError: If there is no such part.
            SettingError: If `size` or `share` is out of range.
            ClickLogError: If the file has changed since it was prepared.
        """
        self._check(part, share)
        if size < 1:
            raise SettingError(f"The size of a batch is {size}; it must be at least 1.")
        rest: list[Array] = []
        waiting = 0
        for rows in self._groups(part, seed, share, share_seed):
            start = 0
            while waiting + len(rows) - start >= size:
                stop = start + size - waiting
                yield _tensors(np.concatenate([*rest, rows[start:stop]]))
                rest, waiting, start = [], 0, stop
            rest.append(rows[start:].copy())  # so that the memory of the group is freed
            waiting += len(rest[-1])
        if waiting and not whole:
            yield _tensors(np.concatenate(rest))

    def _groups(self, part: str, seed: int | None, share: float, share_seed: int) -> Iterator[Array]:
        with _readable(self.path), pq.ParquetFile(self.path.absolute(), page_checksum_verification=True) as file:
            groups = _groups_of(file, part)
            sizes = [file.metadata.row_group(group).num_rows for group in groups]
            before = np.cumsum([0, *sizes])
            places = np.arange(len(groups))
            rng = None if seed is None else np.random.default_rng(derive(seed, "order of clicks", part))
            if rng is not None:
                rng.shuffle(places)
            for place in places:
                wanted = round(int(before[place + 1]) * share) - round(int(before[place]) * share)
                if not wanted:
                    continue
                rows = _read_group(file, groups[place], self.dense + self.fields)
                if wanted < len(rows):
                    drawn = scattered(np.arange(before[place], before[place + 1]), share_seed, f"share of {part}")
                    rows = rows[np.sort(np.argsort(drawn)[:wanted])]
                if rng is not None:
                    rows = rows[rng.permutation(len(rows))]
                yield rows

    def _check(self, part: str, share: float) -> None:
        if part not in PARTS:
            raise UnknownNameError("split of click data", part, PARTS)
        if not 0 < share <= 1:
            raise SettingError(f"The share of the {part} rows is {share}; it must be above 0 and at most 1.")


def is_clicks(source_name: str) -> bool:
    """Return whether the name of a source stands for click data."""
    kind = data_kind(source_name)
    return kind is not None and kind.name == GENERAL


def open_clicks(source_name: str) -> ClickData:
    """Open a prepared file by its layout and path, such as `criteo:FILE`; `clicks:FILE` accepts any layout.

    Raises:
        MissingFileError: If there is no such file.
        ClickLogError: If the file was not prepared, was prepared with another layout, or is damaged.
    """
    if not is_clicks(source_name):
        raise ClickLogError(f"{source_name!r} does not name click data. Use {', '.join(KINDS[GENERAL].forms)}.")
    kind, _, path = source_name.partition(":")
    found = open_prepared(Path(path).expanduser(), kind)
    if kind not in (GENERAL, found.title):
        raise ClickLogError(f"{path} was prepared with the layout {found.title!r}. Use {found.title}:{path}.")
    return found


def open_source(name: str) -> ClickData:
    """Open a source of clicks; see `firstlight.data.sources`."""
    return open_clicks(name)


def path_of(name: str) -> Path:
    """Return the prepared file of a source."""
    return open_clicks(name).path


def open_prepared(path: Path, kind: str = GENERAL) -> ClickData:
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}. {_how_to_prepare(kind, Path('LOG'), path)}")
    with path.open("rb") as start:
        parquet = start.read(4) == b"PAR1"
    known: Any = None
    if parquet:
        with _readable(path), pq.ParquetFile(path.absolute()) as file:
            known = (file.metadata.metadata or {}).get(METADATA.encode())
    if known is None:
        made = Path(f"{path.name.split('.')[0]}-prepared.parquet")
        raise ClickLogError(f"{path} was not prepared. {_how_to_prepare(kind, path, made)}")
    try:
        facts = json.loads(known)
        if facts["form"] != FORM:
            raise ClickLogError(
                f"{path} was prepared by another version of Firstlight (form {facts['form']}, expected {FORM}). "
                f"{_how_to_prepare(facts['layout'], Path('LOG'), path)}"
            )
        return ClickData(
            f"{facts['layout']}:{path}",
            facts["layout"],
            path,
            max(1, len(facts["numbers"])),
            tuple(facts["tables"]),
            facts["rows"],
            facts["fingerprint"],
            facts,
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ClickLogError(
            f"The metadata of {path} is damaged ({type(error).__name__}: {error}). Prepare the file again."
        ) from error


def _how_to_prepare(kind: str, log: Path, made: Path) -> str:
    layout = "|".join(LAYOUTS) if kind == GENERAL else kind
    return f"Prepare a click log first: firstlight data prepare {layout} {log} -o {made}"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # the last: names of columns
        raise ClickLogError(
            f"{path} was truncated or changed after it was prepared. Prepare it again: {error}"
        ) from error


def _groups_of(file: Any, part: str) -> list[int]:
    """Return the row groups of a part, which is in the statistics of their last column."""
    last = file.metadata.num_columns - 1
    return [
        group
        for group in range(file.num_row_groups)
        if file.metadata.row_group(group).column(last).statistics.min == part
    ]


def _read_group(file: Any, group: int, width: int) -> Array:
    """Read numbers, categories and the label of each row, as floats."""
    names = file.schema_arrow.names[: width + 1]
    table = file.read_row_group(group, columns=names, use_threads=False)
    rows = np.empty((len(table), width + 1), np.float32)
    for place, name in enumerate(names):
        rows[:, place] = table.column(name).to_numpy()
    return rows


def _tensors(rows: Array) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(rows[:, :-1].copy()), torch.from_numpy(rows[:, -1].astype(np.int64))
