"""ZeroLM: the size of the weights of attention and of other linear maps (Chen et al., 2025)."""

from __future__ import annotations

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Chen2025zerolm", needs="nothing")
def zerolm(probe: Probe, *, alpha: float = 1.0) -> Parts:
    """Capacity of attention and of other linear maps.

        M = F + alpha A
        A = sum over attention weights of ||W||^2 / min(rows, columns)

    F is the same sum over the weights of all other linear maps, and ||W|| the Frobenius norm. Weights are drawn by
    Xavier's rule, so that M depends on their shapes and hardly on the draw. Made for transformers. No published code or
    value of alpha was found.

    Scale: about the number of matrices. Higher is better. Cost: none.

    Args:
        alpha: Weight of attention.
    """
    attention, others = probe.matrix_energies()
    return Parts(others + alpha * attention, attention=attention, others=others)
