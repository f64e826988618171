"""Columns of published logs."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.data.clicks.layouts import LAYOUTS, find_layout


def test_sizes_are_those_of_the_papers() -> None:
    sizes = {name: (layout.dense, len(layout.categories)) for name, layout in LAYOUTS.items()}
    assert sizes == {"criteo": (13, 26), "avazu": (1, 23), "kdd": (3, 10)}
    columns = {name: len(layout.columns) for name, layout in LAYOUTS.items()}
    assert columns == {"criteo": 40, "avazu": 24, "kdd": 14}
    for layout in LAYOUTS.values():
        assert set(layout.needed) <= set(layout.columns)


@given(st.dates(datetime.date(2000, 1, 1), datetime.date(2060, 12, 31)), st.integers(0, 23))
def test_the_hour_of_avazu_becomes_two_categories(day: datetime.date, hour: int) -> None:
    column = pa.array([f"{day:%y%m%d}{hour:02}", "14139900", None])
    avazu = LAYOUTS["avazu"]
    assert avazu.category("hour_of_day", lambda name: column).to_pylist() == [f"{hour:02}", "00", None]
    assert avazu.category("weekday", lambda name: column).to_pylist() == [str(day.weekday()), None, None]


def test_columns_of_ones_own() -> None:
    layout = find_layout("clicks", "y", ["a"], ["b", "c"])
    assert (layout.needed, layout.dense) == (("y", "a", "b", "c"), 1)
    assert find_layout("clicks", "y", [], ["b"]).dense == 1  # one that is always 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((None, [], ["b"]), "name the column of the label"),
        (("y", ["a"], []), "at least one category"),
        (("y", ["a"], ["a"]), "no column twice"),
        (("y", ["a", ""], ["b"]), "no column twice"),
        (("y", [], ["part"]), "'part' is a column of every prepared file"),
    ],
)
def test_columns_that_make_no_sense(columns: tuple[str | None, list[str], list[str]], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        find_layout("clicks", *columns)


def test_published_layouts_know_their_columns() -> None:
    with pytest.raises(SettingError, match="To name the columns yourself, use the layout 'clicks'"):
        find_layout("criteo", "label")
    with pytest.raises(UnknownNameError, match="Did you mean 'criteo'"):
        find_layout("cretio")
