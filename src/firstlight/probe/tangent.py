"""Tangent kernels as in the theory of NASI (Shu et al., ICLR 2022): its loss, its parameterization, and its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LossName = Literal["cross_entropy", "mse"]
Parameterization = Literal["standard", "ntk"]


def squared_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the squared distance of the logits from one-hot labels, averaged over samples."""
    return (logits - F.one_hot(labels, logits.shape[1])).square().sum(1).mean()


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"cross_entropy": F.cross_entropy, "mse": squared_error}


def ntk_factors(network: nn.Module) -> dict[Tensor, float]:
    """Return what the squared gradient of each parameter is multiplied by in the parameterization of tangent kernels.

    There a layer computes W = w / sqrt(fan-in), so that the gradient with respect to w is that of W divided by the
    square root. Biases are left out. Parameters of other layers, such as BatchNorm, are not in the result.
    """
    factors: dict[Tensor, float] = {}
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            factors[module.weight] = 1 / module.weight[0].numel()
            if module.bias is not None:
                factors[module.bias] = 0.0
    return factors


def loss_bound(kernel: Tensor, outputs: int, rate: float, time: float) -> float:
    """Return the bound of Proposition 1 on the squared error of a wide network at a time of gradient descent.

        m n^2 (1 - rate * mean eigenvalue)^q,    q = min(1, 2 time)

    Args:
        kernel: The tangent kernel of m samples with n outputs each, shape (m n, m n).
        outputs: The number of outputs n.
        rate: The learning rate, below 1 / the largest eigenvalue.
        time: The number of steps.

    The term that vanishes with the width of the network is left out: its constant is unknown.
    """
    samples = len(kernel) // outputs
    mean = float(kernel.trace()) / len(kernel)
    return float(samples * outputs**2 * (1 - rate * mean) ** min(1.0, 2 * time))


def linear_loss(kernel: Tensor, targets: Tensor, rate: float, time: float) -> float:
    """Return the squared error of the linearized network at a time of gradient descent, from outputs of 0 (Eq. 4).

        (1/m) sum over eigenvectors u_i of (1 - rate * lambda_i)^(2 time) (u_i . y)^2

    Args:
        kernel: The tangent kernel, shape (m n, m n).
        targets: The targets, shape (m, n).
        rate: The learning rate.
        time: The number of steps.
    """
    eigenvalues, vectors = torch.linalg.eigh(kernel)
    shares = (vectors.T @ targets.to(kernel).flatten()).square()
    return float(((1 - rate * eigenvalues).abs() ** (2 * time) * shares).sum()) / len(targets)


def data_bound(inputs: int, layers: int, *, distance: float = 2.0, slope: float = 1.0) -> float:
    """Return the bound of Proposition 2 on how much the trace per sample and output depends on the data.

        distance * (1 + slope^2 + ... + slope^(2 layers - 2)) / inputs

    Args:
        inputs: The number of values of an input, which has a norm of at most 1.
        layers: The number of layers.
        distance: The distance of the two distributions: the integral of |P - Q|, at most 2.
        slope: The Lipschitz constant of the nonlinearity; 1 for ReLU.
    """
    return distance * math.fsum(slope ** (2 * layer) for layer in range(layers)) / inputs
