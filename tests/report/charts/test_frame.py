"""Round ticks around the data."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.report.charts.frame import powers, round_ticks

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)
POSITIVE = st.floats(1e-12, 1e12)


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_ticks_enclose_the_data(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    ticks = round_ticks(low, high)
    span = ticks[-1] - ticks[0]
    assert ticks[0] <= low + 1e-9 * span
    assert ticks[-1] >= high - 1e-9 * span
    assert 2 <= len(ticks) <= 7


@settings(deadline=None)
@given(POSITIVE, POSITIVE)
def test_logarithmic_ticks_enclose_the_data(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    ticks = powers(low, high)
    assert ticks[0] <= low * (1 + 1e-9)
    assert ticks[-1] >= high * (1 - 1e-9)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
