"""Gradients of the loss: with respect to the weights of convolutional and linear layers."""

from __future__ import annotations

from math import hypot
from typing import Literal

import torch
from torch import Tensor

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.sizes import Per, size_for

ZERO_COST = "Abdelfattah2021zerocost"


@proxy(reference=ZERO_COST, needs="labels", batch_size=64, expects=("gradients",))
def grad_norm(probe: Probe, *, form: Literal["layers", "whole"] = "layers", per: Per = "network") -> Parts:
    """Norm of the loss gradient, summed over layers.

        M = sum over layers l of ||g_l||_2        form="layers"
        M = sqrt( sum over layers of ||g_l||^2 )  form="whole": one norm of all weights together

    g_l is the gradient of the batch's mean loss with respect to the layer's weight. Published code sums over layers;
    Eq. 2 of HNAS has one norm.

    Scale: about 1 to 200 on NAS-Bench-201. Higher is better. Cost: one forward and backward pass of the batch,
    shared by all gradient proxies.

    Args:
        form: Sum the norms of `layers`, or take one norm of the `whole` gradient.
        per: Divide M by the number of weight tensors (`layer`), of parameters (`parameter`) or of multiply-accumulates
            (`mac`). Published is the sum over the `network`.
    """
    norms = [_norm(g) for g in probe.loss_gradients().weights.values()]
    total = sum(norms) if form == "layers" else hypot(*norms)
    return Parts(total / size_for(probe, per, len(norms)))


@proxy(reference="Lee2019snip", needs="labels", batch_size=64, expects=("gradients",))
def snip(probe: Probe, *, form: Literal["weights", "product"] = "weights") -> Parts:
    """How much removing each weight would change the loss.

        M = sum over all weights of |W * g|        form="weights"
        M = | sum over all weights of W * g |      form="product"

    g is the gradient of the batch's mean loss: the change is of first order. Published code sums absolute values;
    Eq. 3 of HNAS is the absolute value of the product, which is that of `plain`.

    Scale: about 1 to 500 on NAS-Bench-201. Higher is better. Cost: that of `grad_norm`, shared with it.

    Args:
        form: Sum the absolute values of `weights`, or take that of the `product`.
    """
    if form == "product":
        return Parts(abs(sum(_total(w * g) for w, g in _weights_and_gradients(probe))))
    return Parts(sum(_total((w * g).abs()) for w, g in _weights_and_gradients(probe)))


@proxy(reference=ZERO_COST, needs="labels", batch_size=64, expects=("gradients",))
def plain(probe: Probe) -> Parts:
    """Derivative of the loss as all weights grow together.

        M = sum over all weights of W * g

    g is the gradient of the batch's mean loss. This is `snip` with signs.

    Scale: around zero. Higher counts as better, as published; on NAS-Bench-201 the opposite holds.
    Cost: that of `grad_norm`, shared with it.
    """
    return Parts(sum(_total(w * g) for w, g in _weights_and_gradients(probe)))


@proxy(reference=ZERO_COST, needs="nothing")
def l2_norm(probe: Probe) -> Parts:
    """Norm of the weights, summed over layers.

        M = sum over layers l of ||W_l||_2

    It needs no data: with the usual initializations, it measures depth and width.

    Scale: about 50 to 400 on NAS-Bench-201. Higher is better. Cost: none.
    """
    return Parts(sum(_norm(w) for w in probe.weights().values()))


@proxy(reference="Turner2020blockswap", needs="labels", batch_size=64, expects=("gradients", "fisher"))
def fisher(probe: Probe) -> Parts:
    """How sensitive the loss is to each channel.

        M = sum over layers and channels of f times the number of weights of the channel
        f = 1/2 mean over samples of (sum over positions of a * d)^2

    a is the channel's activation, and d the gradient of the batch's mean loss with respect to it.

    Scale: many orders of magnitude; compare ranks. Higher is better. Cost: that of `grad_norm`, shared with it.
    """
    return Parts(probe.fisher())


@proxy(reference="Wang2020grasp", needs="labels", batch_size=64, expects=("gradients", "hessian"))
def grasp(probe: Probe, *, form: Literal["batch", "samples"] = "batch") -> Parts:
    """Whether removing weights would slow gradient descent down.

        M = - sum over all weights of W * (H g)                               form="batch"
        M = - (1/m) sum over samples i and all weights of W * (H_i g_i)       form="samples"

    H is the Hessian of the batch's mean loss and g its gradient; H_i and g_i are those of sample i by itself, in train
    mode. Published code takes the batch; Eq. 3 of HNAS has the mean over samples, and its absolute
    value, which `hnas` takes.

    Scale: either sign, many orders of magnitude. Higher is better. Cost: about three forward and backward passes
    beyond `grad_norm`; `form="samples"`: four for each sample.

    Args:
        form: Take the loss of the `batch`, or of its `samples` one by one.
    """
    if form == "samples":
        return Parts(-probe.mean_hessian_gradient_product())
    return Parts(-probe.hessian_gradient_product())


@proxy(reference="Zhang2022gradsign", needs="labels", batch_size=64, revision=2)
def gradsign(probe: Probe, *, samples: int = 16, form: Literal["sum", "mean"] = "sum") -> Parts:
    """Whether the gradients of samples have the same signs.

        M = sum over weights of |sum over samples i of sign(g_i)|

    g_i is the gradient of sample i's loss. Each sample is run by itself in train mode, so that BatchNorm does not
    couple them.

    Scale: 0 to the number of samples times that of weights. Higher is better. Cost: one forward and backward pass for
    each sample.

    Args:
        samples: Number of samples of the batch.
        form: The `sum` over weights, or the `mean`, as in the published code, without layers that the loss does not
            depend on. The mean says nothing about the network's size, and by itself little about its performance.
    """
    found = probe.sample_gradients(min(samples, len(probe.batches[0])))
    mean = found.sign_agreement / found.weights if found.weights else 0.0
    return Parts(mean if form == "mean" else found.sign_agreement, mean=mean)


def _weights_and_gradients(probe: Probe) -> list[tuple[Tensor, Tensor]]:
    weights = probe.weights()
    return [(weights[name], gradient) for name, gradient in probe.loss_gradients().weights.items()]


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor.double()))


def _total(tensor: Tensor) -> float:
    return float(tensor.double().sum())
