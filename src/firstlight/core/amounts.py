"""Amounts as users write them, such as 1.0M."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from firstlight.core.errors import SettingError

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def parse_amount(text: str | float | None, *, unit: str = "", name: str = "") -> int | None:
    """Read an amount: `850000`, `1.0M`, `450k`, `1.2G`, or with its unit `20MB`. Bytes may be `64KiB`.

    Args:
        text: The amount, as text or as a number.
        unit: The unit, which may be omitted in the text.
        name: The name of the option, for the error message.

    Returns:
        The amount as an integer; None if there is none.

    Raises:
        SettingError: If the text is not an amount.
    """
    if text is None:
        return None
    written = str(int(text)) if isinstance(text, (int, float)) and math.isfinite(text) else str(text)
    binary = "i(?=b)" if unit == "B" else ""
    suffix = rf"((?:[kmg](?:{binary})?)?)(?:{unit.lower()})?"
    match = re.fullmatch(rf"\s*(\d+(?:\.\d+)?(?:e\d\d?)?)\s*{suffix}\s*", written.lower())
    if not match:
        examples = " or ".join(f"{number}{unit}" for number in ("850000", "450k", "1.0M", "1.2G"))
        optional = f" ({unit} is optional)" if unit else ""
        raise SettingError(
            f"{in_question(name)}{text!r} is not an amount. Write a number such as {examples}{optional}."
        )
    return round(Decimal(match[1]) * _SUFFIXES[match[2]])


def parse_duration(text: str | float, *, name: str = "") -> float:
    """Read a duration: `90`, `90s`, `30m`, `1.5h`.

    Args:
        text: The duration, as text or as a number of seconds.
        name: The name of the option, for the error message.

    Returns:
        The seconds.

    Raises:
        SettingError: If the text is not a duration of more than 0.
    """
    written = repr(float(text)) if isinstance(text, (int, float)) else str(text)
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smh]?)\s*", written.lower())
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if not seconds:
        raise SettingError(f"{in_question(name)}{text!r} is not a duration. Write 30m, 90s, 1.5h, or seconds.")
    return seconds


def in_question(name: str) -> str:
    """Return how an error about an option begins: with its name in Python and on the command line."""
    return f"{name} (--{name.replace('_', '-')}): " if name else ""
