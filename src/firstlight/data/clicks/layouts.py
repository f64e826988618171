"""The columns of click logs: Criteo, Avazu, KDD Cup 2012, or named by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstlight.core.errors import SettingError, UnknownNameError

GENERAL = "clicks"


@dataclass(frozen=True)
class Layout:
    """The columns of a log.

    Args:
        name: Name of the layout.
        label: Column of the label.
        numbers: Columns of numbers.
        categories: Columns of categories.
        columns: All columns in the order of files without a header.
        optional: Columns at the end that may be absent.
        counts: True if the label is a number of clicks.
        derived: Categories that are computed from another column: that column and the function.
    """

    name: str
    label: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    counts: bool = False
    derived: Mapping[str, tuple[str, Callable[[Any], Any]]] = field(default_factory=dict)

    @property
    def dense(self) -> int:
        """Numbers in a row. If the log has none, there is one that is always 0, as in NASRec for Avazu."""
        return max(1, len(self.numbers))

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to read, each once."""
        sources = (self.derived[name][0] if name in self.derived else name for name in self.categories)
        return tuple(dict.fromkeys((self.label, *self.numbers, *sources)))

    def category(self, name: str, column: Callable[[str], Any]) -> Any:
        """Return the values of a category as text."""
        if name not in self.derived:
            return column(name)
        source, derive = self.derived[name]
        return derive(column(source))


def _hour_of_day(hour: Any) -> Any:
    """Extract the hour from YYMMDDHH."""
    return pc.utf8_slice_codeunits(hour, 6, 8)


def _weekday(hour: Any) -> Any:
    """Compute the weekday of YYMMDDHH, 0 for Monday. It is missing if the day does not exist."""
    day = pc.strptime(pc.utf8_slice_codeunits(hour, 0, 6), format="%y%m%d", unit="s", error_is_null=True)
    return pc.cast(pc.day_of_week(day), pa.string())


def _numbered(letter: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(first, last + 1))


_AVAZU = (
    "C1 banner_pos site_id site_domain site_category app_id app_domain app_category device_id device_ip device_model "
    "device_type device_conn_type"
)
_KDD = "display_url ad_id advertiser_id depth position query_id keyword_id title_id description_id user_id gender age"

LAYOUTS = {
    "criteo": Layout(
        "criteo",
        "label",
        _numbered("I", 1, 13),
        _numbered("C", 1, 26),
        ("label", *_numbered("I", 1, 13), *_numbered("C", 1, 26)),
    ),
    # `id` differs in every row, so nothing can be learned from it. No `hour` occurs again, but its parts do; with them
    # there are 23 categories, as published
    "avazu": Layout(
        "avazu",
        "click",
        (),
        ("hour_of_day", "weekday", *_AVAZU.split(), *_numbered("C", 14, 21)),
        ("id", "click", "hour", *_AVAZU.split(), *_numbered("C", 14, 21)),
        derived={"hour_of_day": ("hour", _hour_of_day), "weekday": ("hour", _weekday)},
    ),
    # gender and age are published in a separate file; without it both are missing
    "kdd": Layout(
        "kdd",
        "click",
        ("impression", "depth", "position"),
        tuple(name for name in _KDD.split() if name not in ("depth", "position")),
        ("click", "impression", *_KDD.split()),
        optional=("gender", "age"),
        counts=True,
    ),
}


def find_layout(
    name: str, label: str | None = None, numbers: Iterable[str] = (), categories: Iterable[str] = ()
) -> Layout:
    """Return a published layout by its name, or for `clicks` one with the given columns.

    Raises:
        UnknownNameError: If there is no such layout.
        SettingError: If columns are named for a published layout, or do not make a layout.
    """
    numbers, categories = tuple(numbers), tuple(categories)
    if name != GENERAL:
        if label is not None or numbers or categories:
            raise SettingError(
                f"The layout {name!r} has fixed columns. To name the columns yourself, use the layout {GENERAL!r}."
            )
        if name not in LAYOUTS:
            raise UnknownNameError("layout of clicks", name, [*LAYOUTS, GENERAL])
        return LAYOUTS[name]
    columns = (label, *numbers, *categories)
    if label is None or not categories or len(set(columns)) < len(columns) or not all(columns):
        raise SettingError(
            f"For the layout {GENERAL!r}, name the column of the label and at least one category, and no column twice, "
            "such as --label click --numbers price,age --categories site,device."
        )
    taken = {"label", "part"}.intersection((*numbers, *categories))
    if taken:
        raise SettingError(f"{taken.pop()!r} is a column of every prepared file. Rename the column of the log first.")
    return Layout(GENERAL, label, numbers, categories)
