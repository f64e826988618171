"""VKDNW: the spread of the Fisher information over weights (Týbl & Neumann, CVPR 2025)."""

from __future__ import annotations

from firstlight.probe import Probe
from firstlight.probe.fisher import quantile_entropy
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Tybl2025vkdnw", needs="nothing", batch_size=64)
def vkdnw(probe: Probe, *, tensors: int = 128) -> Parts:
    """How even the Fisher information is, and how many layers.

        M = L + V
        V = - sum over deciles of q ln(q + 1e-10)

    L is the number of parameter tensors; q are the deciles 0.1 to 0.9 of the singular values of the Fisher information,
    divided by their sum. The Fisher information is taken in one parameter of each of the first tensors, and averaged
    over samples, with 5% of the uniform distribution in the predicted probabilities, as in the published code. Weights
    are initialized by Kaiming's rule, inputs are drawn from N(0, 1), and the network is in eval mode.

    L decides, and V orders networks with as many tensors: it is at most ln 9 = 2.2.

    Scale: the number of tensors. Higher is better. Cost: a forward pass of the batch and a backward pass for each
    logit; for transformers, for each logit of each sample.

    Args:
        tensors: Number of tensors.
    """
    entropy = quantile_entropy(probe.fisher_matrix(tensors=tensors))
    layers = probe.parameter_tensors()
    return Parts(layers + entropy, layers=layers, entropy=entropy)
