"""Amounts as people write them."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from firstlight.core.errors import SettingError

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parse_amount(text: str | float | None, *, unit: str = "", name: str = "") -> int | None:
    """A count as people write it: `850000`, `1.0M`, `450k`, `1.2G`; with or without its unit, if it has one: `20MB`.

    `name` is that of the setting, for the error.
    """
    if text is None:
        return None
    written = str(int(text)) if isinstance(text, (int, float)) and math.isfinite(text) else str(text)
    optional_unit = f"(?:{unit.lower()})?"
    match = re.fullmatch(rf"\s*(\d+(?:\.\d+)?(?:e\d\d?)?)\s*([kmg]?){optional_unit}\s*", written.lower())
    if not match:
        examples = " or ".join(f"{number}{unit}" for number in ("850000", "450k", "1.0M", "1.2G"))
        optional = f" ({unit} may be left out)" if unit else ""
        raise SettingError(
            f"{in_question(name)}{text!r} is not an amount. Write a number such as {examples}{optional}."
        )
    return round(Decimal(match[1]) * _SUFFIXES[match[2]])


def in_question(name: str) -> str:
    """How an error begins that is about a setting: its name in Python, and on the command line."""
    return f"{name} (--{name.replace('_', '-')}): " if name else ""
