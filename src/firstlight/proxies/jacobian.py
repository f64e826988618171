"""Input Jacobians: how differently outputs react to the inputs of different samples."""

from __future__ import annotations

from math import nan

import torch

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.responses import correlations
from firstlight.proxies.base import Parts, proxy

# Keeps logarithms and inverses away from zero, as published.
K = 1e-5
MANY_CLASSES = 100


@proxy(reference="Mellor2021naswot", batch_size=64, expects=("jacobian",))
def jacov(probe: Probe) -> Parts:
    """How little the Jacobians of samples are correlated.

        M = - sum over eigenvalues v of C of ( ln(v + k) + 1 / (v + k) ),   k = 1e-5

    C is the correlation matrix between the samples' gradients of the summed outputs with respect to the input.
    BatchNorm couples samples, as published.

    Scale: minus the batch size at best, far below for correlated samples. Higher is better. Cost: one forward
    and backward pass without weight gradients, shared with `epe_nas`.
    """
    if len(probe.batches[0]) < 2:
        raise UnsupportedError("correlations between samples need a batch of two or more samples.")
    matrix = correlations(probe.input_jacobian().double())
    if not bool(matrix.isfinite().all()):
        return Parts(nan)
    eigenvalues = torch.linalg.eigvalsh(matrix).clamp(min=0) + K
    return Parts(-float((eigenvalues.log() + 1 / eigenvalues).sum()))


@proxy(reference="Lopes2021epenas", needs="labels", batch_size=64, expects=("jacobian",))
def epe_nas(probe: Probe) -> Parts:
    """How the Jacobians of samples of one class are correlated.

        M = sum over classes of |E|
        E = sum over pairs of samples of the class of ln(|correlation| + 1e-5)

    The correlations are those of `jacov`; each sample is also paired with itself. With more than 100 logits, E is
    divided by the number of samples of the class, classes of one sample are left out, and M is the sum over pairs of
    classes of |E - E'| divided by the number of classes.

    Scale: grows with the number of samples of a class. Higher is better. Cost: that of `jacov`, shared with it.
    """
    labels, jacobian = probe.labels(), probe.input_jacobian().double()
    many = probe.logit_width() > MANY_CLASSES
    per_class = []
    classes, counts = labels.unique(return_counts=True)
    if int(counts.max()) < 2:
        raise UnsupportedError("no class has two samples in the batch; use a larger batch.")
    for label in classes[counts > 1] if many else classes:
        rows = jacobian[labels == label]
        total = (correlations(rows).abs() + K).log().sum()
        per_class.append(total / len(rows) if many else total)
    energies = torch.stack(per_class)
    if many:
        return Parts(float((energies[:, None] - energies[None]).abs().sum()) / len(energies))
    return Parts(float(energies.abs().sum()))
