"""Preparing click logs for networks that predict clicks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.groups import Group, Options, takes
from firstlight.options import read_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from firstlight.data.clicks import ClickData


@dataclass(frozen=True)
class Columns(Group):
    """The columns of a log with the layout `clicks`."""

    title = "Columns"

    label: str | None = None
    """Column of the label."""
    numbers: str | Sequence[str] = ""
    """Columns of numbers, separated by commas."""
    categories: str | Sequence[str] = ""
    """Columns of categories, separated by commas."""


@dataclass(frozen=True)
class Preparation(Group):
    """How a log is prepared."""

    title = "Preparation"

    hash_rows: int | None = None
    """Hash the categories of each field to N rows. Default: 500000."""
    min_count: int | None = None
    """Instead of hashing, give each category that occurs at least N times in the training set its own row."""
    split: str | Sequence[float] = "0.8,0.1,0.1"
    """Fractions of the rows for training, validation and test."""
    seed: int = 0
    """Seed of the split."""
    bad_rows: str = "stop"
    """What to do with rows that cannot be read: stop or skip."""


@takes(Preparation, Columns)
def prepare(
    options: Options,
    layout: str,
    path: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    callback: Callback = ignore,
) -> ClickData:
    """Convert a click log of any size to one file for scoring, searching and training, with little memory.

    Args:
        layout: criteo, avazu, kdd, or clicks with named columns.
        path: The log: text with tabs or commas, plain or gzip, or parquet.
        out: The prepared file; required.
        callback: Called with an `Event` as rows are read.

    Returns:
        The prepared data.
    """
    if out is None:
        raise SettingError("Name the prepared file: out=FILE (-o FILE).")
    from firstlight.data.clicks.layouts import find_layout
    from firstlight.data.clicks.prepare import prepare_clicks

    how, columns = options[Preparation], options[Columns]

    def phase(name: str) -> Callable[[int, int], None]:
        return lambda done, total: callback(Event("reading", done, total, note=name))

    return prepare_clicks(
        find_layout(layout, columns.label, read_list(columns.numbers), read_list(columns.categories)),
        Path(path),
        Path(out),
        hash_rows=how.hash_rows,
        min_count=how.min_count,
        split=_shares(how.split),
        seed=how.seed,
        bad_rows=how.bad_rows,
        phase=phase,
    )


def _shares(given: Any) -> tuple[float, ...]:
    try:
        return tuple(float(share) for share in (given.split(",") if isinstance(given, str) else given))
    except ValueError:
        raise SettingError(
            f"split (--split): {given!r} is not a split. Write three fractions, such as 0.8,0.1,0.1."
        ) from None
