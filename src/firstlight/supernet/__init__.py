"""Weight-sharing networks: all operations of a space on every edge at once, of which a search takes some away.

A state of such a network, which is what is still there, is an architecture like any other: it has an exact text, is
built by a `Supernet`, which is a `Space`, and is scored by any proxy. All states share the same weights.
"""

from firstlight.supernet.base import Supernet
from firstlight.supernet.mixed import MixedEdge, set_weights
from firstlight.supernet.state import Layout, Place, State

__all__ = ["Layout", "MixedEdge", "Place", "State", "Supernet", "set_weights"]
