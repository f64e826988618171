"""Slow, obvious twins of the quantities: plain autograd, one sample or one element at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layers(model: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    return {n: m for n, m in model.named_modules() if isinstance(m, (nn.Conv2d, nn.Linear))}


def loss_gradients(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    model.train().zero_grad()
    F.cross_entropy(model(x.clone()), y).backward()
    return {name: layer.weight.grad.clone() for name, layer in layers(model).items() if layer.weight.grad is not None}


def fisher(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """Activations are copied as they leave; one hook keeps their gradients."""
    model.train().zero_grad()
    kept: list[tuple[nn.Module, Tensor, Tensor]] = []

    def hook(layer: nn.Module, _: object, out: Tensor) -> Tensor:
        leaf = out + 0
        leaf.retain_grad()
        kept.append((layer, leaf.detach().clone(), leaf))
        return leaf + 0

    handles = [layer.register_forward_hook(hook) for layer in layers(model).values()]
    F.cross_entropy(model(x.clone()), y).backward()
    for handle in handles:
        handle.remove()
    total = 0.0
    for layer, activation, leaf in kept:
        channel = activation.ndim - 1 if isinstance(layer, nn.Linear) else 1
        for k in range(activation.shape[channel]):
            product = (activation * leaf.grad).select(channel, k).flatten(1) if activation.ndim > 2 else None
            per_sample = product.sum(1) if product is not None else (activation * leaf.grad)[:, k]
            total += float(per_sample.square().mean()) / 2 * layer.weight[0].numel()
    return total


def hessian_product(model: nn.Module, x: Tensor, y: Tensor, step: float = 1e-5) -> float:
    """W . H g, by central differences of the gradient along g (float64)."""
    gradient = loss_gradients(model, x, y)
    originals = {name: layer.weight.detach().clone() for name, layer in layers(model).items()}
    sides = []
    for sign in (1, -1):
        with torch.no_grad():
            for name, layer in layers(model).items():
                if name in gradient:
                    layer.weight.copy_(originals[name] + sign * step * gradient[name])
        sides.append(loss_gradients(model, x, y))
    with torch.no_grad():
        for name, layer in layers(model).items():
            layer.weight.copy_(originals[name])
    return sum(float((originals[n] * (sides[0][n] - sides[1][n])).sum()) / (2 * step) for n in gradient)


def per_sample_logit_gradients(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Each sample run by itself: weights and biases of convolutions and linear maps."""
    rows = []
    wanted = [p for layer in layers(model).values() for p in (layer.weight, layer.bias) if p is not None]
    for i in range(len(x)):
        logit = model(x[i : i + 1].clone())[0, y[i]]
        found = torch.autograd.grad(logit, wanted, allow_unused=True)
        rows.append(torch.cat([g.flatten() for g in found if g is not None]))
    return torch.stack(rows)


def batch_sum_logit_gradients(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Per-sample pieces of the gradient of the summed logits: each layer's weight is copied once for each sample."""
    model.train()
    n = len(x)
    copies: list[Tensor] = []
    handles = []

    def hook(layer: nn.Conv2d | nn.Linear) -> Callable[..., Tensor]:
        weights = layer.weight.detach().expand(n, *layer.weight.shape).clone().requires_grad_()
        copies.append(weights)
        biases = None
        if layer.bias is not None:
            biases = layer.bias.detach().expand(n, *layer.bias.shape).clone().requires_grad_()
            copies.append(biases)

        def replaced(module: nn.Module, inputs: tuple[Tensor, ...], _: Tensor) -> Tensor:
            x = inputs[0]
            one = F.linear if isinstance(module, nn.Linear) else _convolution(module)
            outs = [one(x[i : i + 1], weights[i], None if biases is None else biases[i]) for i in range(n)]
            return torch.cat(outs)

        return replaced

    for layer in layers(model).values():
        handles.append(layer.register_forward_hook(hook(layer)))
    total = model(x.clone()).gather(1, y[:, None]).sum()
    found = torch.autograd.grad(total, copies, allow_unused=True)
    for handle in handles:
        handle.remove()
    return torch.cat([g.flatten(1) for g in found if g is not None], 1)


def _convolution(layer: nn.Module) -> Callable[..., Tensor]:
    assert isinstance(layer, nn.Conv2d)
    return lambda x, w, b: F.conv2d(x, w, b, layer.stride, layer.padding, layer.dilation, layer.groups)


def input_jacobian(model: nn.Module, x: Tensor) -> Tensor:
    model.train()
    x = x.clone().requires_grad_()
    model(x + 0).sum().backward()
    assert x.grad is not None
    return x.grad.flatten(1)


def relu_inputs(model: nn.Module, x: Tensor) -> list[Tensor]:
    """What each ReLU module gets, call by call."""
    seen: list[Tensor] = []
    relus = [module for module in model.modules() if isinstance(module, nn.ReLU)]
    handles = [r.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().clone())) for r in relus]
    model.train()(x.clone())
    for handle in handles:
        handle.remove()
    return seen


def codes(model: nn.Module, x: Tensor) -> list[tuple[bool, ...]]:
    """For each sample, which units are on."""
    seen = relu_inputs(model, x)
    return [tuple(bool(v > 0) for units in seen for v in units[i].flatten()) for i in range(len(x))]


def agreement(model: nn.Module, x: Tensor) -> Tensor:
    """Units that are on for both samples or off for both, counted one at a time."""
    table = codes(model, x)
    return torch.tensor([[sum(a == b for a, b in zip(i, j, strict=True)) for j in table] for i in table]).double()


def unit_patterns(model: nn.Module, x: Tensor, samples: int) -> int:
    """Different columns of on and off over the first samples, among the units of feature maps."""
    found: set[tuple[bool, ...]] = set()
    for units in relu_inputs(model, x):
        if units.ndim == 4:
            found |= {tuple(column) for column in (units[:samples] > 0).flatten(1).T.tolist()}
    return len(found)


def first_maps(model: nn.Module, x: Tensor) -> list[Tensor]:
    """The first sample's output of every module call as a matrix, in order."""
    seen: list[Tensor] = []

    def hook(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(output[0].detach().clone().reshape(output.shape[1], -1))

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    model.train()(x.clone())
    for handle in handles:
        handle.remove()
    return seen


def smallest_correlation(rows: Tensor) -> float:
    """By numpy's correlations and eigenvalues; correlations that do not exist count as 0."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        correlations = np.atleast_2d(np.corrcoef(rows.numpy()))
    return float(np.linalg.eigvalsh(np.nan_to_num(correlations, nan=0.0, posinf=0.0, neginf=0.0)).min())


def loss(model: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float(F.cross_entropy(model.train()(x.clone()), y))


def along_weights(model: nn.Module, x: Tensor, y: Tensor, step: float = 1e-5) -> float:
    """How fast the loss changes as all weights of convolutions and linear maps grow together: central differences."""
    originals = {layer: layer.weight.detach().clone() for layer in layers(model).values()}
    sides = []
    for factor in (1 + step, 1 - step, 1.0):
        with torch.no_grad():
            for layer, weight in originals.items():
                layer.weight.copy_(factor * weight)
        sides.append(loss(model, x, y))
    return (sides[0] - sides[1]) / (2 * step)


def steady_ratios(series: list[dict[str, Tensor]]) -> dict[str, float]:
    """For each layer the sum of mean |g| over population deviation, with numpy; weights that do not vary left out."""
    found = {}
    for name in series[0]:
        stack = np.stack([entry[name].numpy() for entry in series])
        deviation, size = stack.std(0), np.abs(stack).mean(0)
        varies = np.any(stack != stack[0], axis=0)
        found[name] = float((size[varies] / deviation[varies]).sum())
    return found
