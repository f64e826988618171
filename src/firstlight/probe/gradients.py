"""Gradients of the loss with respect to the weights of convolutions and linear maps, and what comes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.errors import UnsupportedError

Weights = dict[str, Tensor]
# What a backward pass starts from: a scalar made of the network's output for a batch
Scalar = Callable[[], Tensor]


@dataclass(frozen=True)
class LossGradients:
    """The loss of one batch and its gradient with respect to each layer's weight, by the layer's name.

    Layers that the loss does not depend on are absent. `fisher` is, for each layer, the sum over output channels of
    half the mean over samples of (sum over positions of activation times its gradient) squared, times the number of
    weights of a channel; None where it was not asked for.
    """

    loss: float
    weights: Weights
    fisher: float | None = None


def weighted_layers(model: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    """The layers that gradient proxies look at: convolutions and linear maps, wherever they are nested."""
    layers = {name: module for name, module in model.named_modules() if isinstance(module, (nn.Conv2d, nn.Linear))}
    if not layers:
        raise UnsupportedError("the network has no Conv2d or Linear layer, so that there are no weights to look at.")
    return layers


def layer_weights(model: nn.Module) -> Weights:
    return {name: layer.weight.detach() for name, layer in weighted_layers(model).items()}


@contextmanager
def differentiable(model: nn.Module, *parameters: Tensor) -> Iterator[None]:
    """Differentiate with respect to these parameters and no others, frozen or not; as it was before, afterwards."""
    before = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        for parameter, _ in before:
            parameter.requires_grad_(False)
        for wanted in parameters:
            wanted.requires_grad_(True)
        with torch.enable_grad():
            yield
    finally:
        for parameter, required in before:
            parameter.requires_grad_(required)


def loss_gradients(model: nn.Module, loss: Scalar, *, fisher: bool = False) -> LossGradients:
    """One forward and one backward pass."""
    layers = weighted_layers(model)
    with differentiable(model, *(layer.weight for layer in layers.values())):
        if not fisher:
            value = loss()
            return LossGradients(float(value.detach()), _gradients(value, layers))
        for copies in (False, True):  # copies of activations only if the model turns out to overwrite some in place
            recorder = _FisherRecorder(copies)
            with recorder.watching(layers.values()):
                value = loss()
            weights = _gradients(value, layers)
            if not recorder.overwritten:
                break
    return LossGradients(float(value.detach()), weights, recorder.total)


def _gradients(value: Tensor, layers: dict[str, nn.Conv2d | nn.Linear]) -> Weights:
    if not value.requires_grad:
        return {}
    gradients = torch.autograd.grad(value, [layer.weight for layer in layers.values()], allow_unused=True)
    return {name: gradient for name, gradient in zip(layers, gradients, strict=True) if gradient is not None}


class _FisherRecorder:
    """Meets each layer's output on the way forward and its gradient on the way back."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies
        self.overwritten = False
        self.total = 0.0

    @contextmanager
    def watching(self, layers: Any) -> Iterator[None]:
        handles = [layer.register_forward_hook(self._forward) for layer in layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _forward(self, layer: nn.Module, inputs: Any, output: Tensor) -> None:
        if not output.requires_grad:
            return
        activation = output.detach()
        version = activation._version
        if self._copies:
            activation = activation.clone()

        def backward(gradient: Tensor) -> None:
            self.overwritten |= not self._copies and activation._version != version
            channels_last = isinstance(layer, nn.Linear)
            self.total += fisher_of_layer(activation, gradient, channels_last) * layer.weight[0].numel()  # type: ignore[index]

        output.register_hook(backward)


def fisher_of_layer(activation: Tensor, gradient: Tensor, channels_last: bool) -> float:
    """Sum over channels of half the mean over samples of (sum over positions of a times its gradient) squared."""
    product = activation * gradient
    if product.ndim > 2:
        positions = tuple(range(1, product.ndim - 1)) if channels_last else tuple(range(2, product.ndim))
        product = product.sum(positions)
    return float(product.double().square().mean(0).sum()) / 2


def hessian_gradient_product(model: nn.Module, loss: Scalar, gradients: Weights) -> float:
    """Sum over all weights of W times H g: one forward pass, one backward pass that is itself differentiated."""
    layers = weighted_layers(model)
    reached = [(layers[name].weight, gradient) for name, gradient in gradients.items()]
    if not reached:
        return 0.0
    weights = [weight for weight, _ in reached]
    with differentiable(model, *weights):
        again = torch.autograd.grad(loss(), weights, create_graph=True)
        slope = sum((g * fixed).sum() for g, (_, fixed) in zip(again, reached, strict=True))
        assert isinstance(slope, Tensor)
        if not slope.requires_grad:
            return 0.0
        products = torch.autograd.grad(slope, weights, allow_unused=True)
    pairs = ((weight, product) for weight, product in zip(weights, products, strict=True) if product is not None)
    return float(sum((weight.detach() * product).double().sum() for weight, product in pairs))


@dataclass(frozen=True)
class SampleGradients:
    """Of the gradients of single samples: the sum over weights of |sum of their signs|, the number of weights reached,
    and the sum of their squared norms."""

    sign_agreement: float
    weights: int
    energy: float


def sample_gradients(model: nn.Module, losses: Iterator[Scalar]) -> SampleGradients:
    """One pass forward and back for each loss."""
    signs: Weights = {}
    energy = 0.0
    for loss in losses:
        for name, gradient in loss_gradients(model, loss).weights.items():
            energy += float(gradient.double().square().sum())
            sign = gradient.sign()
            signs[name] = signs[name].add_(sign) if name in signs else sign
    agreement = sum(float(sign.abs().double().sum()) for sign in signs.values())
    return SampleGradients(agreement, sum(sign.numel() for sign in signs.values()), energy)
