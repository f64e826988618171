"""What sums over a network can be divided by, so that they do not grow with its size."""

from __future__ import annotations

from typing import Literal

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe

# Nothing, as published; the number of terms, so that the sum becomes a mean; parameters; multiply-accumulates
Per = Literal["network", "layer", "parameter", "mac"]


def size_for(probe: Probe, per: Per, terms: int) -> int:
    """Return what a sum is divided by.

    Args:
        probe: The network.
        per: The unit.
        terms: The number of terms of the sum.

    Raises:
        UnsupportedError: If the network has none of them.
    """
    if per == "network":
        return 1
    size = {"layer": terms, "parameter": probe.cost().params, "mac": probe.cost().macs}[per]
    if not size:
        raise UnsupportedError(f"per={per}: the network has none.")
    return size
