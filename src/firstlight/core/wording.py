"""Numbers and names in sentences and headlines."""

from __future__ import annotations

import math
from collections.abc import Sequence

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def compact(amount: float) -> str:
    """Write an amount with two or three digits: `830k`, `1.0M`, `1.2G`; below 1,000, as it is.

    >>> compact(830_426), compact(1_000_000), compact(7)
    ('830k', '1.0M', '7')
    """
    for size, suffix in _UNITS:
        scaled = amount / size
        if scaled >= 0.9995:  # 999.5k is written as 1.0M
            return f"{scaled:.1f}{suffix}" if scaled < 9.95 else f"{scaled:.0f}{suffix}"
    return f"{amount:.0f}" if float(amount).is_integer() else f"{amount:.3g}"


def significant(value: float, digits: int = 4) -> str:
    """Write a number with a few significant digits: `2.605`, `12,346`, `1.2e-07`.

    >>> significant(2.60519), significant(12345.6)
    ('2.605', '12,346')
    """
    if value == 0 or not math.isfinite(value) or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: `1 network`, `1,000 networks`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def figure(value: float | None) -> str:
    """Write a number of a table: whole numbers with all digits, others with six; a dash where there is none.

    >>> figure(185_858_560), figure(2.605191), figure(None)
    ('185,858,560', '2.60519', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"


def titled(name: str) -> str:
    """Write the name of a proxy as in a headline: `Dextr`; a name that is not a plain word stays as it is."""
    return name.capitalize() if name.isalpha() and name.islower() else name


def enumerated(names: Sequence[str]) -> str:
    """Join names as in a sentence: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
