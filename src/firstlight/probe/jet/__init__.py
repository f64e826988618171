"""Second-order jets: a tensor's value, velocity and acceleration along a curve, carried through a network together.

`Jet` stands in for a tensor in a model's ordinary `forward`. Every PyTorch function that meets one is answered by the
rule of its kind: linear maps act on all three parts at once, as one larger batch; products follow Leibniz; ReLU masks;
normalisation has a closed form. A function without a rule is differentiated by nested forward-mode AD, after a check
against reverse mode, because forward mode through a fused kernel can be silently wrong.

Each point of the curve is a batch of its own: train-mode BatchNorm takes its statistics from that point alone.
"""

from firstlight.probe.jet import linear, nonlinear
from firstlight.probe.jet.tensor import Jet, constant

__all__ = ["Jet", "constant", "linear", "nonlinear"]
