"""A network under observation, and everything measured of it so far."""

from __future__ import annotations

from firstlight.probe.altered import AlteredQuantities
from firstlight.probe.forward import ForwardQuantities


class Probe(ForwardQuantities, AlteredQuantities):
    """An untrained network, the batches it is shown, and the quantities that proxies ask of it.

    The network is measured where it lives (device and precision) and comes back as it went in: weights, buffers, mode,
    gradients, hooks and random state. A quantity is a pure function of the network, the batches and the seed; it is
    measured once and remembered. Those of forward passes are in `forward.py`, those of the first batch in
    `first_batch.py`, those of other backward passes in `backward.py`, those of changed copies in `altered.py`.

    `loss(logits, targets)` is cross-entropy unless given. `logits` names the logits in the output of a network that
    returns a tuple (a number) or a dictionary (a key). `cost` is given where it is known from a formula. `expected`
    holds what will be asked for later and costs little when measured along with something else.
    """
