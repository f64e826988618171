"""The jet, and how PyTorch functions of a jet find their rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from firstlight.core.errors import UnsupportedError
from firstlight.probe.jet.forward_mode import taylor

Rule = Callable[..., Any]
# The rule for each function by its plain name; linear.py and nonlinear.py fill it
RULES: dict[str, Rule] = {}


class Jet:
    """A tensor with its first and second derivative with respect to the parameter of a curve.

    Not a subclass of Tensor, so that code without jet support fails loudly instead of using the value alone.

    Attributes:
        parts: Value, velocity and acceleration, shape (3, *shape).
        rectified: The jet that ReLU made of this one, with the versions of both.
    """

    def __init__(self, parts: Tensor) -> None:
        self.parts = parts
        self.rectified: tuple[int, int, Jet] | None = None

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return apply(func, args, dict(kwargs or {}))

    @property
    def value(self) -> Tensor:
        return self.parts[0]

    @property
    def shape(self) -> torch.Size:
        return self.parts.shape[1:]

    @property
    def ndim(self) -> int:
        return self.parts.ndim - 1

    @property
    def dtype(self) -> torch.dtype:
        return self.parts.dtype

    @property
    def device(self) -> torch.device:
        return self.parts.device

    @property
    def requires_grad(self) -> bool:
        return False

    def dim(self) -> int:
        return self.ndim

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(Tensor, name)
        if callable(method):
            return lambda *args, **kwargs: apply(method, (self, *args), kwargs)
        return apply(method.__get__, (self,), {})  # a property such as `T` or `is_cuda`


def _operator(name: str) -> Any:
    method = getattr(Tensor, name)
    return lambda *args: apply(method, args, {})


for _name in (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv matmul rmatmul "
    "neg pow abs getitem gt ge lt le eq ne"
).split():
    setattr(Jet, f"__{_name}__", _operator(f"__{_name}__"))


def apply(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of `func` for arguments that include jets."""
    name, in_place = _plain_name(func)
    in_place = bool(kwargs.pop("inplace", False)) or in_place
    kwargs.pop("memory_format", None)  # a jet has its own memory layout
    if not args and "input" in kwargs:
        args = (kwargs.pop("input"),)
    rule = RULES.get(name)
    if (in_place and not isinstance(args[0], Jet)) or kwargs.get("out") is not None:
        raise UnsupportedError(f"{name} writes into a tensor that does not depend on the input.")
    result = rule(func, *args, **kwargs) if rule else nested(func, args, kwargs)
    if in_place:
        args[0].parts.copy_(constant(result).parts)  # in place, because other views may share the memory
        return args[0]
    return result


def constant(tensor: Any) -> Jet:
    """Return a constant tensor as a jet; a jet unchanged."""
    if isinstance(tensor, Jet):
        return tensor
    parts = torch.zeros(3, *tensor.shape, dtype=tensor.dtype, device=tensor.device)
    parts[0] = tensor
    return Jet(parts)


def nested(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function without a rule."""
    return wrap(taylor(func, args, kwargs, Jet))


def refuse_moving(*parameters: Any) -> None:
    if Jet in map(type, parameters):
        raise UnsupportedError("the weights of a layer depend on the input.")


def wrap(parts: Any) -> Any:
    """Turn each floating-point tensor of a result, whose first dimension counts the parts, into a jet."""
    return tree_map_only(Tensor, lambda tensor: Jet(tensor) if tensor.is_floating_point() else tensor, parts)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for the PyTorch functions of these names, as functions, methods, operators or in place."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


@functools.cache
def _plain_name(func: Any) -> tuple[str, bool]:
    """Return the name of the operation, such as add for `__iadd__` and `add_`, and whether it works in place."""
    name: str = func.__name__
    if name == "__get__":  # a property of Tensor
        return func.__self__.__name__, False
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
        in_place = name.startswith("i") and hasattr(Tensor, f"__{name[1:]}__")
        return (name[1:] if in_place else name), in_place
    if name.endswith("_"):
        return name[:-1], True
    return name, False
