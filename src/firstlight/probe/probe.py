"""The probe: an untrained network with everything measured of it so far."""

from __future__ import annotations

from firstlight.probe.altered import AlteredQuantities
from firstlight.probe.forward import ForwardQuantities


class Probe(ForwardQuantities, AlteredQuantities):
    """An untrained network, the batches it is shown, and the quantities that proxies read.

    A quantity is a method, and a pure function of the network, the batches and the seed. It is measured when it
    is first requested, on the device and in the precision of the network, and cached. The network is left unchanged:
    weights, buffers, mode, gradients, hooks and random state.

    Quantities of forward passes are defined in `forward.py`, those of the first batch in `first_batch.py`, those of
    other backward passes in `backward.py`, and those of changed copies of the network in `altered.py`.

    Args:
        model: The network; not in half precision, without lazy layers and without TorchScript.
        batches: One batch or a list of batches. A batch is a tensor of inputs, or a pair (inputs, targets). Several
            inputs of a network are a tuple or a dictionary of tensors.
        loss: The loss as a function of logits and targets. Default: cross-entropy.
        logits: Position of the logits in an output that is a tuple (an index) or a dictionary (a key).
        seed: Random seed.
        cost: The cost of the network, if it is known without counting.

    Attributes:
        expected: Quantities that will be requested later, such as "gradients" or a feature statistic. A pass that can
            measure one of them at little cost does so.

    Raises:
        BatchError: If the batches cannot be used.
        ModelError: If the network cannot be measured.

    Example:
        >>> import torch
        >>> from firstlight import Probe
        >>> probe = Probe(torch.nn.Linear(4, 2), torch.randn(8, 4))
        >>> probe.cost().params
        10
    """
