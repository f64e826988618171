"""Second-order jets: a tensor's value, velocity and acceleration along a curve, carried through a network together.

A `Jet` takes the place of a tensor in a model's ordinary `forward`. Every PyTorch function of a jet is computed by a
rule: linear maps act on all three parts at once, as one larger batch; products follow the Leibniz rule; ReLU masks;
normalization has a closed form. A function without a rule is differentiated by nested forward-mode AD, after a check
against reverse mode, because forward mode through a fused kernel can be silently wrong.

Each point of the curve is a batch of its own: BatchNorm in train mode takes its statistics from that point alone.
"""

from firstlight.probe.jet import linear, nonlinear
from firstlight.probe.jet.tensor import Jet, constant

__all__ = ["Jet", "constant", "linear", "nonlinear"]
