"""Batches of one or more inputs, given by position or by name, with or without targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from firstlight.core.errors import BatchError, UnsupportedError

Inputs = Tensor | tuple[Tensor, ...] | Mapping[str, Tensor]
# A tensor, (inputs, targets), or a list of these; several inputs of a network are a tuple or a dictionary of tensors
Batches = Inputs | tuple[Inputs, Tensor | None] | Sequence[Inputs | tuple[Inputs, Tensor | None]]


@dataclass(frozen=True)
class Batch:
    """The inputs and targets of one forward pass.

    Attributes:
        inputs: The inputs; their first dimension counts the samples.
        targets: Class labels, or whatever the loss takes.
        names: The names of the inputs, if the network takes them by name.
    """

    inputs: tuple[Tensor, ...]
    targets: Tensor | None = None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.inputs[0])

    def equals(self, other: Batch) -> bool:
        """Return whether both hold the same samples in the same order."""
        mine, others = [*self.inputs, self.targets], [*other.inputs, other.targets]
        return len(mine) == len(others) and all(_same(a, b) for a, b in zip(mine, others, strict=True))

    def head(self, count: int) -> Batch:
        """Return the first `count` samples."""
        return self.map(lambda x: x[:count], None if self.targets is None else self.targets[:count])

    def chunks(self, size: int) -> list[Batch]:
        """Split the batch into chunks of at most `size` samples."""
        starts = range(0, len(self), size)
        targets = [None if self.targets is None else self.targets[start : start + size] for start in starts]
        return [
            replace(self, inputs=tuple(x[start : start + size] for x in self.inputs), targets=y)
            for start, y in zip(starts, targets, strict=True)
        ]

    def map(self, change: Callable[[Tensor], Tensor], targets: Tensor | None = None) -> Batch:
        """Return a batch of changed inputs, with the given targets."""
        return replace(self, inputs=tuple(map(change, self.inputs)), targets=targets)

    def feed(self, model: Callable[..., Any], change: Callable[[Tensor], Any] = torch.clone) -> Any:
        """Run the model on the inputs; by default on copies, since a first layer may work in place."""
        inputs = [change(x) for x in self.inputs]
        return model(**dict(zip(self.names, inputs, strict=True))) if self.names else model(*inputs)

    @property
    def image(self) -> Tensor:
        """The only input, for measurements along a curve in input space."""
        if len(self.inputs) != 1:
            raise UnsupportedError(f"a network with a single input is needed; this one takes {len(self.inputs)}.")
        if not self.inputs[0].is_floating_point():
            raise UnsupportedError("floating-point inputs are needed; this network takes integers.")
        return self.inputs[0]

    def described(self) -> str:
        """Return shape, type and device of each input, for error messages."""
        return ", ".join(f"{tuple(x.shape)} {x.dtype} on {x.device}" for x in self.inputs)


def as_batches(batches: Any, device: torch.device, dtype: torch.dtype | None) -> list[Batch]:
    """Read batches as users write them; they move to the device, and floating-point inputs to the precision."""
    if isinstance(batches, (Tensor, Mapping)) or _is_pair(batches) or _is_loaded_pair(batches):
        items: list[Any] = [batches]
    elif isinstance(batches, tuple) and all(isinstance(item, Tensor) for item in batches):
        raise BatchError(
            f"A tuple of {len(batches)} tensors is ambiguous: several inputs, or several batches. Write inputs as "
            "((a, b, c), targets), with None for no targets, and batches as a list."
        )
    else:
        items = list(batches) if isinstance(batches, Iterable) else [None]
    found = []
    for number, item in enumerate(items, start=1):
        item = tuple(item) if isinstance(item, list) else item  # as a DataLoader yields it
        inputs, targets = item if _is_pair(item) else (item, None)
        tensors = _tensors(inputs)
        if not tensors or any(x.ndim == 0 or len(x) == 0 for x in tensors):
            raise BatchError(
                "Batches must be a tensor, a pair (inputs, targets), or a list of these, each with one sample or more. "
                "Several inputs of a network are a tuple or a dictionary of tensors, as in ((a, b), targets). Got "
                f"{type(item).__name__}."
            )
        count = len(tensors[0])
        if any(len(x) != count for x in tensors) or (
            targets is not None and (not targets.ndim or len(targets) != count)
        ):
            sizes = [tuple(x.shape) for x in tensors] + ([] if targets is None else [tuple(targets.shape)])
            raise BatchError(f"The inputs and targets of batch {number} have different numbers of samples: {sizes}.")
        if not all(bool(x.isfinite().all()) for x in tensors):
            raise BatchError(f"Batch {number} contains NaN or infinite inputs; clean the data first.")
        moved = tuple(x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in tensors)
        names = tuple(inputs) if isinstance(inputs, Mapping) else ()
        if targets is not None:  # labels may be integers of any width
            targets = targets.to(device) if targets.is_floating_point() else targets.to(device).long()
        found.append(Batch(moved, targets, names))
    if not found:
        raise BatchError("No batches were given; proxies need at least one batch of inputs.")
    return found


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    return one is other if one is None or other is None else torch.equal(one, other)


def _tensors(inputs: Any) -> tuple[Tensor, ...]:
    values = (inputs,) if isinstance(inputs, Tensor) else inputs.values() if isinstance(inputs, Mapping) else inputs
    values = tuple(values) if isinstance(values, Iterable) else ()
    return values if all(isinstance(value, Tensor) for value in values) else ()


def _is_loaded_pair(item: object) -> bool:
    """Return True for [inputs, targets] as a DataLoader yields it; two batches would have the same dimensions."""
    return (
        isinstance(item, list)
        and len(item) == 2
        and all(isinstance(part, Tensor) and part.ndim for part in item)
        and item[0].ndim != item[1].ndim
        and len(item[0]) == len(item[1])
    )


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and bool(_tensors(item[0]))
        and (item[1] is None or isinstance(item[1], Tensor))
    )
