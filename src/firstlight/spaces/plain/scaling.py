"""Widths multiplied by a common factor, to reach a size or to stay within limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from firstlight.core.errors import SettingError

S = TypeVar("S")
# A network with all widths multiplied by a factor
Widen = Callable[[S, float], S]
# Factors that are tried: widths are multiples of 4 and at most 2,048
NARROWEST, WIDEST = 1 / 512, 512.0
STEPS = 12


def closest(network: S, widen: Widen[S], size: Callable[[S], int], params: int) -> S:
    """Return the network of about as many parameters as wanted.

    Args:
        network: The network to start from.
        widen: Multiplies all widths by a factor.
        size: Returns the number of parameters.
        params: The number of parameters wanted.

    Raises:
        SettingError: If `params` is not positive.
    """
    if params < 1:
        raise SettingError(f"params is {params}; it must be at least 1.")
    factor, best, least = 1.0, network, math.inf
    for _ in range(8):
        found = widen(network, factor)
        ratio = params / size(found)
        if abs(math.log(ratio)) < least:
            best, least = found, abs(math.log(ratio))
        factor *= math.sqrt(ratio)  # most parameters grow with the square of the widths
    return best


def widest(network: S, widen: Widen[S], fits: Callable[[S], bool]) -> S | None:
    """Return the widest network that fits, by bisection of the factor; None if the narrowest does not fit.

    Wide networks take long to measure, so that factors grow from 1 on until one does not fit.
    """
    low, high = 1.0, 1.0
    while high <= WIDEST and fits(widen(network, high)):
        low, high = high, 2 * high
    if high > WIDEST:
        return widen(network, low)
    while high == low:  # not even the first one fits
        low = low / 2
        if low < NARROWEST:
            return None
        if not fits(widen(network, low)):
            high = low
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        if fits(widen(network, middle)):
            low = middle
        else:
            high = middle
    return widen(network, low)
