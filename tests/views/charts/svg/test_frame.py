"""Round ticks around the data."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.svg.frame import each_by_itself, in_step, powers, round_ticks

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


def test_ticks_of_an_axis_are_written_alike() -> None:
    assert in_step([1.8, 2.0, 2.2, 2.4]) == ["1.8", "2.0", "2.2", "2.4"]
    assert in_step([0.0, 0.25, 0.5]) == ["0", "0.25", "0.50"]
    assert in_step([500_000, 1e6, 1.5e6]) == ["0.5M", "1.0M", "1.5M"]
    assert in_step([250, 500, 750, 1000]) == ["250", "500", "750", "1000"]
    assert in_step([950, 1000, 1050]) == ["950", "1000", "1050"]
    assert in_step([1e6, 1e6 + 0.25, 1e6 + 0.5]) == ["1000000.00", "1000000.25", "1000000.50"]
    assert in_step([0.0, 2e-5, 4e-5]) == ["0", "2e-05", "4e-05"]
    assert each_by_itself([0.1, 10.0, 1e4]) == ["0.1", "10", "10k"]


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_ticks_can_be_told_apart(a: float, b: float) -> None:
    ticks = round_ticks(min(a, b), max(a, b))
    if ticks[1] - ticks[0] > 1e-5 * max(map(abs, ticks)):
        assert len(set(in_step(ticks))) == len(ticks)
