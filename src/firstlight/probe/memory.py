"""The memory of a probe: each quantity is measured once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from torch import Tensor

from firstlight.probe.subject import Subject

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Subject)


def quantity(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Memoize a method of a probe by its arguments.

    The result is kept in `_memory`, under the name of the method and its arguments in the order of its signature. A
    method whose pass yields other quantities at no cost enters them there under their own keys.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def remembered(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        key = (method.__name__, *(_key(value) for value in bound.args[1:]), *map(_key, bound.kwargs.values()))
        if key not in self._memory:
            self._memory[key] = method(self, *args, **kwargs)
        return cast(R, self._memory[key])

    return remembered


def _key(argument: object) -> object:
    if isinstance(argument, Tensor):
        return "tensor", argument.shape, argument.dtype, argument.numpy(force=True).tobytes()
    return argument
