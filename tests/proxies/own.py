"""Proxies of a user's own, at the top level of a module, so that worker processes can import them."""

from __future__ import annotations

from firstlight import Parts, Probe, proxy


@proxy(revision=7, higher_is_better=False)
def size(probe: Probe, *, scale: float = 1.0) -> Parts:
    """How large a network is."""
    return Parts(scale * sum(parameter.numel() for parameter in probe.model.parameters()))


def no_proxy(probe: Probe) -> Parts:
    return Parts(1.0)
