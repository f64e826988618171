"""Rules for linear functions, products, and functions that are constant along the curve."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.core.errors import UnsupportedError
from firstlight.probe.jet.tensor import Jet, constant, nested, refuse_moving, rule, wrap

# ---------------------------------------- linear maps


@rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear")
def _affine(func: Any, x: Jet, weight: Tensor, bias: Tensor | None = None, *args: Any, **kwargs: Any) -> Jet:
    if not isinstance(x, Jet):
        raise UnsupportedError(f"the weights of {func.__name__} depend on the input.")
    refuse_moving(weight, bias)
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
    if plain and x.shape[-2:].numel() > 512:  # PyTorch's kernel is faster on smaller maps
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
        raise UnsupportedError(f"an argument of {func.__name__} that must be constant depends on the input.")
    others = [argument.value if isinstance(argument, Jet) else argument for argument in args]
    return wrap(torch.vmap(lambda part: func(part, *others, **kwargs))(x.parts))


@rule("view", "view_as")
def _view(func: Any, x: Jet, *shape: Any) -> Any:
    """Use reshape: the memory layout of a jet's parts may differ from that of the tensor they stand for."""
    return _linear(Tensor.reshape, x, *([shape[0].shape] if isinstance(shape[0], (Jet, Tensor)) else shape))


@rule("to", "type_as", "float", "double", "half", "bfloat16", "type")
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
    """Pool by a depthwise convolution, which takes a third of the time of PyTorch's pooling kernel."""
    channels = x.shape[1]
    total = F.conv2d(x, x.new_ones(channels, 1, 3, 3), padding=1, groups=channels)
    return total.mul_(1 / 9 if count_include_pad else _inverse_window_sizes(*x.shape[-2:], x.dtype, x.device))


@functools.lru_cache(maxsize=64)
def _inverse_window_sizes(height: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return one over the number of pixels of the image that each 3x3 window covers."""
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
        return x.value * 0  # constant: what depends on it alone needs no derivatives
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


# ---------------------------------------- constants


@rule(
    *("size stride numel dim ndimension gt ge lt le eq ne sign argmax argmin detach isnan isinf isfinite".split()),
    *("empty_like rand_like randn_like new_zeros new_ones new_empty new_full".split()),
    *("new_tensor is_floating_point is_complex is_contiguous get_device element_size is_cuda is_nested layout".split()),
)
def _constant_along_curve(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Functions that do not change when the input moves a little: shapes, comparisons, new tensors."""
    values = [argument.value if isinstance(argument, Jet) else argument for argument in (x, *args)]
    return func(*values, **kwargs)


@rule("zeros_like", "ones_like", "full_like")
def _fixed_like(func: Any, x: Any, *args: Any, **kwargs: Any) -> Jet:
    """Return a jet all the same, so that jets can be added to it in place."""
    return constant(func(x.value, *args, **kwargs))


# ---------------------------------------- helpers


def _aligned(x: Any, y: Any) -> tuple[Any, Any]:
    """Give a jet as many dimensions as the other operand, as broadcasting from the right would."""
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
