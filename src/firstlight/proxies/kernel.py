"""Tangent kernels: their trace, condition number and mean."""

from __future__ import annotations

from math import sqrt
from typing import Literal

import torch
from torch import Tensor

from firstlight.probe import Probe
from firstlight.probe.tangent import LOSSES, LossName, Parameterization
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Shu2022hnas", needs="labels", batch_size=64, expects=("kernel",))
def ntk_trace(probe: Probe) -> Parts:
    """Size of per-sample gradients: how fast the network can learn.

        M = sqrt( trace(Theta) / m )

    Theta is the m x m Gram matrix of the gradients of each sample's own logit with respect to weights and biases of
    convolutional and linear layers. BatchNorm couples samples: the gradients are then those of the sum of all logits,
    as published.

    Scale: about 1 to 100 on NAS-Bench-201. Higher is better. Cost: about one and a half forward and backward
    passes, shared with `ntk_condition` and `knas`.
    """
    theta = probe.label_kernel()
    return Parts(sqrt(float(theta.trace()) / len(theta)))


@proxy(reference="Shu2022hnas", higher_is_better=False, needs="labels", batch_size=64, expects=("kernel",))
def ntk_condition(probe: Probe) -> Parts:
    """Condition number of the tangent kernel: uneven learning.

        M = lambda_max(Theta) / lambda_min(Theta)

    Theta is the kernel of `ntk_trace`. Its smallest eigenvalue is kept above rounding errors.

    Scale: 1 to infinity. Lower is better. Cost: that of `ntk_trace`, shared with it.
    """
    return _condition(probe.label_kernel(), probe.rounding)


@proxy(reference="Xu2021knas", needs="labels", batch_size=64, expects=("kernel",))
def knas(probe: Probe) -> Parts:
    """Whether the gradients of samples agree.

        M = sqrt( |mean over all pairs (i, j) of Theta_ij| )

    Theta is the kernel of `ntk_trace`, and M is at most that score.

    Scale: about 1 to 100 on NAS-Bench-201. Higher is better. Cost: that of `ntk_trace`, shared with it.
    """
    return Parts(sqrt(abs(float(probe.label_kernel().mean()))))


@proxy(reference="Shu2022nasi", needs="labels", batch_size=64, expects=("gradients",))
def ntk_trace_batch(
    probe: Probe,
    *,
    form: Literal["mean", "sum"] = "mean",
    loss: LossName = "cross_entropy",
    parameterization: Parameterization = "standard",
) -> Parts:
    """Squared norm of the loss gradient: NASI's trace estimate.

        M = || (1/b) sum over samples of g_i ||^2      form="mean" (Eq. 12)
        M = sum over samples of || g_i ||^2            form="sum" (Eq. 11)

    g_i is the gradient of sample i's loss; for the sum, each sample is run by itself. Both estimate the trace of the
    tangent kernel up to a constant. Labels may be random and inputs noise.

    Scale: many orders of magnitude. Higher is better, up to the point where training becomes unstable. Cost: that of
    `grad_norm`, shared with it; `form="sum"`: one forward and backward pass for each sample, shared with `gradsign`.

    Args:
        form: The squared norm of the `mean` gradient, or the `sum` of squared norms.
        loss: `cross_entropy`, or `mse` for the squared error against one-hot labels.
        parameterization: Gradients with respect to the weights, or, for `ntk`, with respect to w in
            W = w / sqrt(fan-in).
    """
    probe = probe if loss == "cross_entropy" else probe.with_loss(LOSSES[loss])
    scaled = parameterization == "ntk"
    if form == "sum":
        gradients = probe.sample_gradients()
        return Parts(gradients.ntk_energy if scaled else gradients.energy)
    each = probe.loss_gradients().weights.values()
    return Parts(
        sum(float(gradient.double().square().sum()) / (gradient[0].numel() if scaled else 1) for gradient in each)
    )


@proxy(reference="Shu2022nasi", batch_size=8)
def ntk_trace_exact(probe: Probe, *, samples: int = 8, parameterization: Parameterization = "standard") -> Parts:
    """The trace of the tangent kernel, of all logits and parameters.

        M = (1/samples) * sum over samples i and logits k of || d f_k(x_i) / d theta ||^2

    f_k is a logit, and theta are all parameters, including those of BatchNorm. This is the exact value of what
    `ntk_trace_batch` estimates up to a constant, and is meant for checking it on small networks. In train mode
    BatchNorm couples samples, and the gradients account for that. If outputs are multiplied by s, M is multiplied by s
    squared; if only the last layer's weights are, its own part of M does not change.

    Scale: many orders of magnitude. Higher is better, up to the point where training becomes unstable. Cost: one
    forward pass of the samples, and a backward pass for each sample and logit: 80 for 8 samples and 10 classes.

    Args:
        samples: Number of samples of the batch.
        parameterization: Gradients with respect to the parameters, or, for `ntk`, with respect to w in
            W = w / sqrt(fan-in), and without biases.
    """
    count = min(samples, len(probe.batches[0]))
    return Parts(probe.exact_trace(samples=samples, parameterization=parameterization) / count)


@proxy(reference="Chen2021tenas", higher_is_better=False, batch_size=64)
def te_ntk(probe: Probe, *, samples: int = 8, mode: Literal["train", "eval"] = "train") -> Parts:
    """Condition number of TE-NAS's tangent kernel.

        M = lambda_max(Theta) / lambda_min(Theta)

    Theta is the Gram matrix of the gradients of each sample's summed outputs with respect to all parameters named
    weight, including those of BatchNorm.

    Scale: 1 to infinity. Lower is better. Cost: one forward pass of the samples, and a backward pass for each sample.

    Args:
        samples: Number of samples of the batch.
        mode: In `train` mode, BatchNorm couples samples, and the gradients account for that; not in `eval` mode.
    """
    return _condition(probe.output_kernel(samples=samples, training=mode == "train"), probe.rounding)


def _condition(gram: Tensor, rounding: float) -> Parts:
    """Return the condition number. The smallest eigenvalue is kept above this share of the largest one."""
    if not bool(gram.isfinite().all()):
        return Parts(float("nan"), note="gradients are not finite")
    eigenvalues = torch.linalg.eigvalsh(gram)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if largest <= 0:
        return Parts(float("nan"), note="the outputs do not depend on the weights: the kernel is zero")
    floor = rounding * largest
    note = "the smallest eigenvalue is zero within rounding" if smallest < floor else ""
    return Parts(largest / max(smallest, floor), note=note, smallest=smallest, largest=largest)
