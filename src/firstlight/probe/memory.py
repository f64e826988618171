"""Measure once, remember, answer from memory afterwards."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from torch import Tensor, nn

from firstlight.probe.batch import Batch, Batches
from firstlight.probe.subject import Loss, Subject

P = ParamSpec("P")
R = TypeVar("R")


class Remembering(Subject):
    """A subject with a memory. `expected` holds what will be asked for later and costs little along with others."""

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        *,
        loss: Loss | None = None,
        logits: int | str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, batches, loss=loss, logits=logits, seed=seed)
        self.expected: set[Hashable] = set()
        self._memory: dict[Any, Any] = {}

    def _with(self, model: nn.Module, batches: list[Batch] | None = None) -> Self:
        """The same measurements of another network, or with other batches."""
        twin = copy.copy(self)
        twin.model, twin._memory, twin.expected = model, {}, set()
        twin.batches = self.batches if batches is None else batches
        return twin


S = TypeVar("S", bound=Remembering)


def quantity(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Measure once for each set of arguments, remember, and answer from memory afterwards."""

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
