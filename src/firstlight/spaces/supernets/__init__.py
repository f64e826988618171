"""Weight-sharing networks: all operations of a space on every edge at once, of which a search removes some.

What is left is a state of the network. A state is an architecture like any other: it has an exact text, is built by a
`Supernet`, which is a `Space`, and can be scored by any proxy. All states share the same weights.
"""

from firstlight.spaces.supernets.base import Supernet
from firstlight.spaces.supernets.mixed import ChoicePoint, MixedEdge, MixedInputs, set_weights
from firstlight.spaces.supernets.one_shot import Choice, OneShot, Preferences
from firstlight.spaces.supernets.state import Layout, Place, State

__all__ = [
    "Choice",
    "ChoicePoint",
    "Layout",
    "MixedEdge",
    "MixedInputs",
    "OneShot",
    "Place",
    "Preferences",
    "State",
    "Supernet",
    "set_weights",
]
