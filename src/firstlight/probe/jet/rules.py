"""The rules: how value, velocity and acceleration pass through each kind of PyTorch function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.errors import UnsupportedError
from firstlight.probe.jet.tensor import RULES, Jet, constant, nested, rule, wrap

__all__ = ["RULES"]

# ---------------------------------------- linear maps


@rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear")
def _affine(func: Any, x: Jet, weight: Tensor, bias: Tensor | None = None, *args: Any, **kwargs: Any) -> Jet:
    if not isinstance(x, Jet):
        raise UnsupportedError(f"the weights of {func.__name__} move along the curve.")
    _refuse_moving(weight, bias)
    out = _as_one_batch(lambda stack: func(stack, weight, None, *args, **kwargs), x)
    if bias is not None:
        out.value.add_(bias if func is F.linear else bias.view(-1, *[1] * (out.ndim - 2)))
    return out


@rule("avg_pool1d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "pixel_shuffle")
@rule("pixel_unshuffle")
def _batchwise_linear(func: Any, x: Jet, *args: Any, **kwargs: Any) -> Jet:
    return _as_one_batch(lambda stack: func(stack, *args, **kwargs), x)


@rule("avg_pool2d")
def _avg_pool2d(
    func: Any,
    x: Jet,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Jet:
    plain = _pair(kernel_size) == (3, 3) and _pair(stride) == _pair(padding) == (1, 1) and divisor_override is None
    if plain and x.shape[-2:].numel() > 512:  # on smaller maps PyTorch's kernel is the faster one
        return _as_one_batch(lambda stack: _avg_pool_3x3(stack, count_include_pad), x)
    args = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _as_one_batch(lambda stack: func(stack, *args), x)


@rule(
    *("reshape unflatten permute transpose t swapaxes swapdims movedim squeeze unsqueeze expand".split()),
    *("expand_as contiguous clone mean sum cumsum getitem chunk split tensor_split unbind select narrow roll".split()),
    *("flip repeat index_select unfold neg mT mH T interpolate upsample".split()),
)
def _linear(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Linear in its first argument, whatever it does with the dimensions."""
    if not isinstance(x, Jet):
        raise UnsupportedError(f"{func.__name__} was given a tensor that moves where a fixed one is expected.")
    others = [argument.value if isinstance(argument, Jet) else argument for argument in args]
    return wrap(torch.vmap(lambda part: func(part, *others, **kwargs))(x.parts))


@rule("view", "view_as")
def _view(func: Any, x: Jet, *shape: Any) -> Any:
    """By reshape: the parts of a jet may lie in memory in another order than the tensor they stand for."""
    return _linear(Tensor.reshape, x, *([shape[0].shape] if isinstance(shape[0], (Jet, Tensor)) else shape))


@rule("to", "type_as", "float", "double", "type")
def _cast(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    value = _constant_along_curve(func, x, *args, **kwargs)
    return _linear(func, x, *args, **kwargs) if value.is_floating_point() else value


@rule("flatten")
def _flatten(func: Any, x: Jet, start_dim: int = 0, end_dim: int = -1) -> Jet:
    return Jet(x.parts.flatten(*(dim + 1 if dim >= 0 else dim for dim in (start_dim, end_dim))))


@rule("pad")
def _pad(func: Any, x: Jet, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    out = _linear(func, x, pad, mode)
    if value:
        out.parts[0] = func(x.value, pad, mode, value)
    return out


@rule("cat", "concat", "concatenate", "stack", "hstack", "vstack")
def _join(func: Any, tensors: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    parts = [constant(tensor).parts for tensor in tensors]
    return wrap(torch.vmap(lambda *pieces: func(pieces, *args, **kwargs))(*parts))


def _as_one_batch(function: Callable[[Tensor], Tensor], x: Jet) -> Jet:
    out = function(x.parts.flatten(0, 1))
    return Jet(out.unsqueeze(1) if x.parts.shape[1] == 1 else out.view(*x.parts.shape[:2], *out.shape[1:]))


def _avg_pool_3x3(x: Tensor, count_include_pad: bool) -> Tensor:
    """Nine shifted adds: a tenth of the time that PyTorch's pooling kernel takes on the CPU."""
    padded = F.pad(x, (1, 1, 1, 1))
    rows = padded[..., :-2, :] + padded[..., 1:-1, :]
    rows += padded[..., 2:, :]
    total = rows[..., :-2] + rows[..., 1:-1]
    total += rows[..., 2:]
    return total.mul_(1 / 9 if count_include_pad else _inverse_window_sizes(*x.shape[-2:], x.dtype, x.device))


@functools.lru_cache(maxsize=64)
def _inverse_window_sizes(height: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """One over the number of pixels of the image that each 3x3 window covers."""
    ones = torch.ones(1, 1, height, width, dtype=dtype, device=device)
    return F.conv2d(ones, torch.ones(1, 1, 3, 3, dtype=dtype, device=device), padding=1)[0, 0].reciprocal_()


# ---------------------------------------- sums and products


@rule("add", "radd")
def _add(func: Any, x: Any, y: Any, *, alpha: float = 1) -> Jet:
    x, y = _aligned(x, y)
    if isinstance(x, Jet) and isinstance(y, Jet):
        return Jet(torch.add(x.parts, y.parts, alpha=alpha))
    moving, fixed = (x, y * alpha) if isinstance(x, Jet) else (y if alpha == 1 else Jet(y.parts * alpha), x)
    shape = torch.broadcast_shapes(moving.shape, getattr(fixed, "shape", ()))
    parts = moving.parts.expand(3, *shape).clone()
    parts[0].add_(fixed)
    return Jet(parts)


@rule("sub", "subtract")
def _sub(func: Any, x: Any, y: Any, *, alpha: float = 1) -> Any:
    return _add(func, x, y, alpha=-alpha)


@rule("rsub")
def _rsub(func: Any, x: Any, y: Any, *, alpha: float = 1) -> Any:
    return _add(func, y, x, alpha=-alpha)


@rule("mul", "rmul", "multiply")
def _mul(func: Any, x: Any, y: Any) -> Any:
    if isinstance(y, (int, float)) and y == 0:
        return x.value * 0  # zero does not move; what follows from it alone needs no derivatives
    return _product(torch.mul, *_aligned(x, y))


@rule("matmul", "bmm", "mm")
def _matmul(func: Any, x: Any, y: Any) -> Jet:
    return _product(
        torch.vmap(func, in_dims=(0 if isinstance(x, Jet) else None, 0 if isinstance(y, Jet) else None)), x, y
    )


def _product(multiply: Callable[[Any, Any], Tensor], x: Any, y: Any) -> Jet:
    """Leibniz: (xy)' = x'y + xy', (xy)'' = x''y + 2x'y' + xy''; `multiply` works on stacks of parts."""
    if not isinstance(x, Jet):
        return Jet(multiply(x, y.parts))
    if not isinstance(y, Jet):
        return Jet(multiply(x.parts, y))
    first, second = multiply(x.parts[[0, 1, 0, 2, 1, 0]], y.parts[[0, 0, 1, 0, 1, 2]]).split((1, 5))
    velocity = second[0] + second[1]
    acceleration = second[2] + 2 * second[3] + second[4]
    return Jet(torch.cat([first, velocity[None], acceleration[None]]))


@rule("truediv", "div", "divide", "true_divide")
def _divide(func: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    if isinstance(y, Jet) or kwargs:
        return nested(func, (x, y), kwargs)
    x, y = _aligned(x, y)
    return Jet(x.parts / y)


# ---------------------------------------- nonlinear functions


@rule("relu")
def _relu(func: Any, x: Jet) -> Jet:
    return Jet(x.parts * torch.relu(x.value).sign_())


# PyTorch has no second derivative for these as they stand; in terms of others it has


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
        raise UnsupportedError("alpha_dropout is random and not linear; put the model's dropout to 0.")
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
    _refuse_moving(weight, bias)
    shape = (-1, *[1] * (x.ndim - 2))
    spatial = tuple(range(2 - x.ndim, 0))
    if training or running_mean is None or running_var is None:
        if x.shape.numel() == x.shape[1]:
            raise UnsupportedError("train-mode BatchNorm sees one value for each channel; use a larger input.")
        dims = spatial if x.shape[0] == 1 else (-x.ndim, *spatial)
        return Jet(_normalised(x.parts, dims, eps, weight, bias, shape))
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
    _refuse_moving(weight, bias)
    return Jet(_normalised(x.parts, tuple(range(2 - x.ndim, 0)), eps, weight, bias, (-1, *[1] * (x.ndim - 2))))


@rule("group_norm")
def _group_norm(func: Any, x: Jet, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Jet:
    _refuse_moving(weight, bias)
    grouped = x.parts.reshape(*x.parts.shape[:2], num_groups, -1)
    parts = _normalised(grouped, (-1,), eps).view(x.parts.shape)
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
    _refuse_moving(weight, bias)
    dims = tuple(range(-len(normalized_shape), 0))
    return Jet(_normalised(x.parts, dims, eps, weight, bias, normalized_shape))


def _normalised(
    parts: Tensor,
    dims: tuple[int, ...],
    eps: float,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    shape: Any = (),
) -> Tensor:
    """The jet of u / sqrt(mean(u^2) + eps) with u centred over `dims`, times `weight` plus `bias` in the given shape.

    With y_k = u_k / sqrt(mean(u_0^2) + eps), m = mean(y_0 y_1) and q = mean(y_1^2) + mean(y_0 y_2), the velocity is
    v = y_1 - m y_0 and the acceleration y_2 - 2 m v + (m^2 - q) y_0.
    """
    means = parts.mean(dims, keepdim=True)
    y = parts - means
    value, velocity, acceleration = y.unbind()
    variance, covariance, cross = (value * y).mean(dims, keepdim=True).unbind()
    squared_velocity = velocity.square().mean(dims, keepdim=True)
    precision = (variance + eps).reciprocal_()
    if float(variance.min()) < 1e-2:  # perhaps the rounding noise of a constant, not to be blown up into a signal
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


# ---------------------------------------- constants


@rule(
    *("size stride numel dim ndimension gt ge lt le eq ne sign argmax argmin detach isnan isinf isfinite".split()),
    *("empty_like rand_like randn_like new_zeros new_ones new_empty new_full".split()),
    *("new_tensor is_floating_point is_complex is_contiguous get_device element_size is_cuda is_nested layout".split()),
)
def _constant_along_curve(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """What does not change when the input moves a little: shapes, comparisons, new tensors."""
    values = [argument.value if isinstance(argument, Jet) else argument for argument in (x, *args)]
    return func(*values, **kwargs)


@rule("zeros_like", "ones_like", "full_like")
def _fixed_like(func: Any, x: Any, *args: Any, **kwargs: Any) -> Jet:
    """A jet all the same, so that moving tensors can be added to it in place."""
    return constant(func(x.value, *args, **kwargs))


# ---------------------------------------- helpers


def _refuse_moving(*parameters: Any) -> None:
    if Jet in map(type, parameters):
        raise UnsupportedError("the weights of a layer move along the curve.")


def _aligned(x: Any, y: Any) -> tuple[Any, Any]:
    """Give a jet as many dimensions as the other operand has, as broadcasting from the right would."""
    if not isinstance(x, (Jet, Tensor)) or not isinstance(y, (Jet, Tensor)):
        return x, y
    dims = max(x.ndim, y.ndim)
    return _with_dims(x, dims), _with_dims(y, dims)


def _with_dims(x: Any, dims: int) -> Any:
    missing = dims - x.ndim
    if not missing or not isinstance(x, Jet):
        return x
    return Jet(x.parts.view(3, *[1] * missing, *x.shape))


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value) if value is not None else (0, 0)
