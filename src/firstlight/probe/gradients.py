"""Gradients of the loss with respect to the weights of convolutions and linear layers, and what derives from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import LayerListener

Weights = dict[str, Tensor]
_ATTENTION_WEIGHTS = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
NO_WEIGHT = "the loss does not depend on the weight of any convolution or linear layer."
# Computes the scalar that a backward pass starts from
Scalar = Callable[[], Tensor]


@dataclass(frozen=True)
class LossGradients:
    """The loss of one batch and its gradients.

    Attributes:
        loss: The loss.
        weights: The gradient of each layer's weight by the layer's name; without layers that the loss does not depend
            on.
        along: The sum over all parameters of the network of parameter times gradient: how fast the loss grows as all
            of them grow in proportion. Biases, normalization and embeddings count, too.
    """

    loss: float
    weights: Weights
    along: float


def layers_of(model: nn.Module) -> list[nn.Conv2d | nn.Linear]:
    """Return the layers that gradient proxies read: all convolutions and linear layers."""
    layers = [module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
    for layer in layers:
        if not isinstance(layer._parameters.get("weight"), nn.Parameter):
            raise UnsupportedError(
                f"the weight of {layer} is computed from other parameters (weight_norm, parametrize); only gradients "
                "of plain weights are supported."
            )
    return layers


def weights_of(model: nn.Module) -> Weights:
    """Return the weights of these layers and of PyTorch's attention by name; tied weights once."""
    layers_of(model)
    found: dict[Tensor, str] = {}
    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            found.setdefault(module.weight, name)
        elif isinstance(module, nn.MultiheadAttention):
            for inner in _ATTENTION_WEIGHTS:
                if (weight := getattr(module, inner)) is not None:
                    found.setdefault(weight, f"{name}.{inner}".lstrip("."))
    if not found:
        raise UnsupportedError("the network has no Conv2d or Linear layer, whose weights are needed.")
    return {name: weight for weight, name in found.items()}


def other_parameters(model: nn.Module, weights: Weights) -> Weights:
    """Return all parameters that are not among the weights by name: biases, normalization, embeddings; tied ones once.

    Numbers without a gradient, such as integers, are left out.
    """
    known = set(weights.values())
    return {name: p for name, p in model.named_parameters() if p not in known and p.is_floating_point()}


def refuse_hidden_layers(model: nn.Module) -> None:
    """Raise `UnsupportedError` if the inputs and outputs of single layers cannot be observed."""
    if any(isinstance(module, nn.MultiheadAttention) for module in model.modules()):
        raise UnsupportedError(
            "the linear layers inside nn.MultiheadAttention cannot be observed; write attention with nn.Linear layers."
        )


@contextmanager
def differentiable(model: nn.Module, *parameters: Tensor) -> Iterator[None]:
    """Differentiate with respect to these parameters only, frozen or not; restores `requires_grad` afterwards."""
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


def weight_gradients(model: nn.Module, scalar: Scalar) -> Weights:
    """Compute the gradients of a scalar by one forward and one backward pass."""
    weights = weights_of(model)
    with differentiable(model, *weights.values()):
        return gradients_of(scalar(), weights)


def average(parts: Sequence[tuple[float, LossGradients]]) -> LossGradients:
    """Average the gradients of chunks of a batch, each given with its share of the samples."""
    weights: Weights = {}
    for share, part in parts:
        for name, gradient in part.weights.items():
            weights[name] = weights[name].add_(gradient, alpha=share) if name in weights else share * gradient
    loss, along = (sum(share * getattr(part, name) for share, part in parts) for name in ("loss", "along"))
    return LossGradients(loss, weights, along)


def gradients_of(value: Tensor, weights: Mapping[str, Tensor], *, differentiable: bool = False) -> Weights:
    """Return the gradient of each weight by name; without weights that the value does not depend on."""
    if not value.requires_grad:
        raise UnsupportedError(NO_WEIGHT)
    gradients = torch.autograd.grad(value, list(weights.values()), allow_unused=True, create_graph=differentiable)
    return {name: gradient for name, gradient in zip(weights, gradients, strict=True) if gradient is not None}


class FisherRecorder(LayerListener):
    """Combines each layer's output with its gradient.

    Attributes:
        total: The sum over layers and their output channels of half the mean over samples of (sum over positions of
            activation times gradient) squared, times the number of weights of a channel.
    """

    def __init__(self, copies: bool) -> None:
        super().__init__(copies)
        self.total = 0.0

    def keep(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return output

    def meet(self, layer: nn.Module, kept: Tensor, gradient: Tensor) -> None:
        assert isinstance(layer, (nn.Conv2d, nn.Linear))
        terms = fisher_of_layer(kept, gradient, channels_last=isinstance(layer, nn.Linear))
        self.total += terms * layer.weight[0].numel()


def fisher_of_layer(activation: Tensor, gradient: Tensor, *, channels_last: bool) -> float:
    """Return the sum over channels of half the mean over samples of (sum over positions of a da) squared."""
    product = activation * gradient
    if product.ndim > 2:
        positions = tuple(range(1, product.ndim - 1)) if channels_last else tuple(range(2, product.ndim))
        product = product.sum(positions)
    return float(product.double().square().mean(0).sum()) / 2


@dataclass(frozen=True)
class SampleGradients:
    """Statistics of the gradients of single samples.

    Attributes:
        sign_agreement: The sum over weights of |sum over samples of the sign of the gradient|.
        weights: The number of weights that the loss depends on.
        energy: The sum over samples of the squared norm of the gradient.
        ntk_energy: The same with respect to w in W = w / sqrt(fan-in).
    """

    sign_agreement: float
    weights: int
    energy: float
    ntk_energy: float


def sample_gradients(model: nn.Module, losses: Iterator[Scalar]) -> SampleGradients:
    """Compute them by one forward and one backward pass for each loss."""
    signs: Weights = {}
    energy = ntk_energy = 0.0
    for loss in losses:
        for name, gradient in weight_gradients(model, loss).items():
            squares = float(gradient.double().square().sum())
            energy += squares
            ntk_energy += squares / gradient[0].numel()
            sign = gradient.sign() + 0 * gradient  # keeps NaN
            signs[name] = signs[name].add_(sign) if name in signs else sign
    agreement = sum(float(sign.abs().double().sum()) for sign in signs.values())
    return SampleGradients(agreement, sum(sign.numel() for sign in signs.values()), energy, ntk_energy)
