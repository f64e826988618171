"""Texts of options that several commands share."""

from __future__ import annotations

import pytest
from firstlight.cli.options import read_pairs, read_shape
from firstlight.cli.targets import read_logits

from firstlight.core.errors import SettingError

ENDLESS = "9" * 5000  # Python itself refuses to make a number of it


def test_numbers_of_thousands_of_digits_are_refused_or_names() -> None:
    with pytest.raises(SettingError, match="not a skeleton setting"):
        read_pairs(f"channels={ENDLESS}")
    with pytest.raises(SettingError, match="not a shape"):
        read_shape(f"3,{ENDLESS}")
    assert read_logits(ENDLESS) == ENDLESS


@pytest.mark.parametrize("text", ["0", "3,0", "3x0x3", "0x3", "-1", "3,,3", "٣", ""])
def test_shapes_are_positive(text: str) -> None:
    with pytest.raises(SettingError, match="not a shape"):
        read_shape(text)
