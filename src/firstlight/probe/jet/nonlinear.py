"""Rules for activations, dropout and normalizations."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.core.errors import UnsupportedError
from firstlight.probe.jet.tensor import Jet, refuse_moving, rule


@rule("relu")
def _relu(func: Any, x: Jet) -> Jet:
    """Reuse the result for the same jet (several edges of a cell rectify one node), unless either has changed."""
    before, after, rectified = x.rectified or (-1, -1, x)
    if before != x.parts._version or after != rectified.parts._version:
        # the derivative of ReLU times each part, without a mask in between
        rectified = Jet(torch.ops.aten.threshold_backward(x.parts, x.value.expand_as(x.parts), 0))
        x.rectified = (x.parts._version, rectified.parts._version, rectified)
    return rectified


_WITH_INDICES = "_with_indices"
_MAX_POOLS = [f"{kind}max_pool{dims}d" for kind in ("", "adaptive_") for dims in (1, 2, 3)]


@rule(*_MAX_POOLS, *(name + _WITH_INDICES for name in _MAX_POOLS))
def _max_pool(func: Any, x: Jet, *args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
    """The derivatives of the maximum are those of the pixel that attains it."""
    name = func.__name__.removesuffix(_WITH_INDICES)
    _, indices = getattr(F, name + _WITH_INDICES)(x.value, *args, **kwargs)
    image_dim = -int(name[-2])
    picked = x.parts.flatten(image_dim).gather(
        -1, indices.flatten(image_dim).expand(3, *[-1] * (x.ndim + image_dim + 1))
    )
    out = Jet(picked.view(3, *indices.shape))
    return (out, indices) if return_indices or name != func.__name__ else out


# PyTorch has no second derivative for these functions, but for their composition of others


@rule("silu")
def _silu(func: Any, x: Any) -> Any:
    return x * torch.sigmoid(x)


@rule("mish")
def _mish(func: Any, x: Any) -> Any:
    return x * torch.tanh(F.softplus(x))


@rule("hardsigmoid")
def _hardsigmoid(func: Any, x: Any) -> Any:
    return F.hardtanh(x + 3, 0.0, 6.0) / 6


@rule("glu")
def _glu(func: Any, x: Any, dim: int = -1) -> Any:
    first, second = x.chunk(2, dim)
    return first * torch.sigmoid(second)


@rule("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout")
def _dropout(func: Any, x: Jet, *args: Any, **kwargs: Any) -> Jet:
    if func.__name__ == "alpha_dropout":
        raise UnsupportedError("alpha_dropout is random and not linear; set the model's dropout to 0.")
    mask = func(torch.ones_like(x.value), *args, **kwargs)
    return Jet(x.parts * mask)


@rule("batch_norm")
def _batch_norm(
    func: Any,
    x: Jet,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Jet:
    refuse_moving(weight, bias)
    shape = (-1, *[1] * (x.ndim - 2))
    spatial = tuple(range(2 - x.ndim, 0))
    if training or running_mean is None or running_var is None:
        if x.shape.numel() == x.shape[1]:
            raise UnsupportedError("BatchNorm in train mode sees one value for each channel; use a larger input.")
        dims = spatial if x.shape[0] == 1 else (-x.ndim, *spatial)
        return Jet(_normalized(x.parts, dims, eps, weight, bias, shape))
    scale = (running_var + eps).rsqrt() if weight is None else (running_var + eps).rsqrt() * weight
    parts = x.parts * scale.view(shape)
    parts[0].sub_((running_mean * scale).view(shape))
    if bias is not None:
        parts[0].add_(bias.view(shape))
    return Jet(parts)


@rule("instance_norm")
def _instance_norm(
    func: Any,
    x: Jet,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not use_input_stats:
        return _batch_norm(func, x, running_mean, running_var, weight, bias, False, momentum, eps)
    refuse_moving(weight, bias)
    return Jet(_normalized(x.parts, tuple(range(2 - x.ndim, 0)), eps, weight, bias, (-1, *[1] * (x.ndim - 2))))


@rule("group_norm")
def _group_norm(func: Any, x: Jet, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Jet:
    refuse_moving(weight, bias)
    grouped = x.parts.reshape(*x.parts.shape[:2], num_groups, -1)
    parts = _normalized(grouped, (-1,), eps).view(x.parts.shape)
    shape = (-1, *[1] * (x.ndim - 2))
    if weight is not None:
        parts *= weight.view(shape)
    if bias is not None:
        parts[0].add_(bias.view(shape))
    return Jet(parts)


@rule("layer_norm")
def _layer_norm(
    func: Any, x: Jet, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Jet:
    refuse_moving(weight, bias)
    dims = tuple(range(-len(normalized_shape), 0))
    return Jet(_normalized(x.parts, dims, eps, weight, bias, normalized_shape))


def _normalized(
    parts: Tensor,
    dims: tuple[int, ...],
    eps: float,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    shape: Any = (),
) -> Tensor:
    """Return the jet of u / sqrt(mean(u^2) + eps), with u centered over `dims`, times `weight` plus `bias`.

    With y_k = u_k / sqrt(mean(u_0^2) + eps), m = mean(y_0 y_1) and q = mean(y_1^2) + mean(y_0 y_2), the velocity is
    v = y_1 - m y_0 and the acceleration y_2 - 2 m v + (m^2 - q) y_0.
    """
    means = parts.mean(dims, keepdim=True)
    y = parts - means
    value, velocity, acceleration = y.unbind()
    variance, covariance, cross = (value * y).mean(dims, keepdim=True).unbind()
    squared_velocity = velocity.square().mean(dims, keepdim=True)
    precision = (variance + eps).reciprocal_()
    if float(variance.min()) < 1e-2:  # perhaps rounding errors of a constant, which must not be amplified
        noise = means[:2].square_().mul_((8 * torch.finfo(parts.dtype).eps) ** 2)
        precision.masked_fill_((variance < noise[0]) & (squared_velocity < noise[1]), 0.0)
    m = covariance * precision
    q = (squared_velocity + cross).mul_(precision)
    y *= precision.sqrt() if weight is None else precision.sqrt_() * weight.view(shape)
    velocity.addcmul_(value, m, value=-1)
    acceleration.addcmul_(velocity, m, value=-2).addcmul_(value, (m * m).sub_(q))
    if bias is not None:
        value.add_(bias.view(shape))
    return y
