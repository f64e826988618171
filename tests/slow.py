"""Slow, obvious twins of the quantities: plain autograd, one sample or one element at a time."""

from __future__ import annotations

import copy
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
    return _growing(model, [layer.weight for layer in layers(model).values()], x, y, step)


def along_parameters(model: nn.Module, x: Tensor, y: Tensor, step: float = 1e-5) -> float:
    """How fast the loss changes as all parameters grow together: central differences."""
    return _growing(model, list(model.parameters()), x, y, step)


def _growing(model: nn.Module, parameters: list[nn.Parameter], x: Tensor, y: Tensor, step: float) -> float:
    originals = [parameter.detach().clone() for parameter in parameters]
    sides = []
    for factor in (1 + step, 1 - step, 1.0):
        with torch.no_grad():
            for parameter, original in zip(parameters, originals, strict=True):
                parameter.copy_(factor * original)
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


def _positive(model: nn.Module) -> nn.Module:
    twin = copy.deepcopy(model).double()
    for tensor in [*twin.parameters(), *twin.buffers()]:
        tensor.data = tensor.data.abs()
    return twin


def path_sum(model: nn.Module, x: Tensor, batch_norm: bool = False) -> float:
    """Every weight made positive, an input of ones; BatchNorm is bypassed by hooks that return what it got."""
    twin = _positive(model).train()
    for module in twin.modules():
        if isinstance(module, nn.BatchNorm2d) and not batch_norm:
            module.register_forward_hook(lambda _module, inputs, _output: inputs[0])
    twin(torch.ones_like(x[:1], dtype=torch.float64)).sum().backward()
    weights = [layer.weight for layer in layers(twin).values()]
    return sum(float((w.detach() * w.grad).abs().sum()) for w in weights if w.grad is not None)


def synaptic_terms(model: nn.Module, x: Tensor, attention: list[str], others: list[str]) -> tuple[float, float]:
    """Nuclear norms by singular values, for parameters that are named; saliency one weight at a time."""
    twin = _positive(model).eval()
    twin(torch.ones_like(x[:1], dtype=torch.float64)).sum().backward()
    parameters = dict(twin.named_parameters())
    diversity = saliency = 0.0
    for name in attention:
        gradient, weight = parameters[name].grad, parameters[name].detach()
        diversity += float(torch.linalg.svdvals(gradient).sum()) * float(torch.linalg.svdvals(weight).sum())
    for name in others:
        pairs = zip(parameters[name].grad.flatten(), parameters[name].detach().flatten(), strict=True)
        saliency += sum(abs(float(g) * float(w)) for g, w in pairs)
    return diversity, saliency


def entropy(feature: Tensor) -> float:
    """Of the principal components of the channels over samples and positions, by a singular value decomposition."""
    rows = feature.movedim(1, -1).reshape(-1, feature.shape[1]) if feature.ndim == 4 else feature.flatten(0, 1)
    shares = torch.linalg.svdvals(rows - rows.mean(0)) ** 2
    return -sum(float(p * torch.log(p + 1e-8)) for p in shares / shares.sum())


def block_features(model: nn.Module, blocks: list[nn.Module], x: Tensor) -> list[Tensor]:
    seen: list[Tensor] = []
    handles = [b.register_forward_hook(lambda _module, _inputs, output: seen.append(output.clone())) for b in blocks]
    model(x.clone())
    for handle in handles:
        handle.remove()
    return [feature.detach() for feature in seen]


def block_gain(model: nn.Module, before: nn.Module, after: nn.Module, x: Tensor) -> float:
    """Largest singular value of the covariance of a gradient behind `after` and what the whole Jacobian makes of it.

    The gradient is -1 at every third entry and 1 elsewhere.
    """
    start, end = block_features(model, [before, after], x)

    def between(z: Tensor) -> Tensor:
        found: list[Tensor] = []
        replaced = before.register_forward_hook(lambda _module, _inputs, _output: z.clone())
        caught = after.register_forward_hook(lambda _module, _inputs, output: found.append(output.clone()))
        model(x.clone())
        replaced.remove()
        caught.remove()
        return found[0]

    jacobian = torch.autograd.functional.jacobian(between, start).reshape(end.numel(), start.numel())
    out = torch.tensor([-1.0 if i % 3 == 0 else 1.0 for i in range(end.numel())]).double()
    back, out = (jacobian.T @ out).reshape(start.shape), out.reshape(end.shape)
    if start.ndim == 3:
        return float(torch.linalg.svdvals(back.flatten(0, 1).T @ out.flatten(0, 1) / (len(out) * out.shape[1]))[0])
    stride, total = start.shape[2] // end.shape[2], 0
    for sample in range(len(out)):
        for row in range(end.shape[2]):
            for column in range(end.shape[3]):
                patch = back[sample, :, stride * row : stride * (row + 1), stride * column : stride * (column + 1)]
                total = total + torch.outer(patch.flatten(), out[sample, :, row, column])
    return float(torch.linalg.svdvals(total / (len(out) * end.shape[2] * end.shape[3]))[0])
