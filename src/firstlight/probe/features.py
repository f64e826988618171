"""Statistics of feature maps, each reduced to one number during the forward pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable
from weakref import ref

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from firstlight.core.seeds import torch_generator

Modules = Literal["all", "leaf"]

# Gram matrices of maps of one shape are collected and reduced together, up to this many float64 entries (32 MiB)
_WAITING_LIMIT = 2**22
# Layers without state, and their settings: layers with equal settings do the same
_STATELESS: dict[type, Callable[[Any], object]] = {
    nn.ReLU: attrgetter("inplace"),
    nn.AvgPool2d: attrgetter(
        *("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    ),
    nn.MaxPool2d: attrgetter("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"),
}


@dataclass(frozen=True)
class MapStack:
    """What is kept of feature maps of one shape, each read as a matrix (rows, columns) in float64.

    Attributes:
        rows: The size of a map's first dimension: channels of a convolution, tokens of a transformer.
        columns: The product of its other dimensions.
        modules: The module that made each map.
        grams: The products of all pairs of rows of each map; of all pairs of columns if there are fewer columns.
        row_grams: The products of all pairs of rows, if a statistic needs them.
        row_sums: The sum of each row, if a statistic needs it.
    """

    rows: int
    columns: int
    modules: Sequence[nn.Module]
    grams: Tensor
    row_grams: Tensor
    row_sums: Tensor

    @property
    def by_columns(self) -> bool:
        return self.rows >= self.columns

    @cached_property
    def energies(self) -> Tensor:
        """The sum of squares of each map; not finite if any of its entries is not."""
        return self.grams.diagonal(dim1=1, dim2=2).sum(1)


@runtime_checkable
class Statistic(Hashable, Protocol):
    """A reduction of feature maps to one number each. Hashable; equal objects do the same.

    Attributes:
        by_rows: True if it reads `row_grams` and `row_sums`.
    """

    by_rows: ClassVar[bool]

    def __call__(self, stack: MapStack, generator: torch.Generator) -> Tensor: ...


@dataclass(frozen=True)
class FeatureValues:
    """The statistic of every module call.

    Attributes:
        names: The name of the module of each call, in order.
        values: The statistic of its output.
        not_finite: The number of maps with a NaN or infinite entry; their values are meaningless.
        matrices: The number of maps that are not vectors.
    """

    names: tuple[str, ...]
    values: Tensor
    not_finite: int
    matrices: int


# Position, module, and what `MapStack` keeps of the map
_Kept = tuple[int, nn.Module, Tensor, Tensor, Tensor]


class FeatureRecorder:
    """A hook that reduces the first sample's output of each module at once, so that no feature map is kept.

    Outputs that must be equal are reduced once: one that a module merely passes on (a container, an identity), and
    those of stateless layers with the same settings and the same input.
    """

    def __init__(self, statistics: Iterable[Statistic], seed: int) -> None:
        # each has its own generator, so that none depends on which others are measured
        self._statistics = {statistic: torch_generator(seed, "features", repr(statistic)) for statistic in statistics}
        self._by_rows = any(statistic.by_rows for statistic in self._statistics)
        self._names: list[str] = []
        self._positions: list[int] = []  # of each call's map among the different ones
        self._reduced: list[tuple[list[int], list[Tensor]]] = []  # positions, and their values in each statistic
        self._not_finite: set[int] = set()
        self._different = 0
        self._matrices = 0
        self._waiting: dict[torch.Size, list[_Kept]] = defaultdict(list)
        # (what was done, id of the tensor it was done to) -> (that tensor, its version then, position of the result)
        self._seen: dict[tuple[Hashable, int], tuple[ref[Tensor], int, int]] = {}

    @contextmanager
    def watching(
        self, model: nn.Module, modules: Modules, logits_in: Callable[[Any], Any] | None = None
    ) -> Iterator[None]:
        """Record the calls of the model's modules by one global hook, which leaves the modules untouched.

        `logits_in` finds the logits in the output of the network, if that is not a single tensor.
        """
        names = {
            module: name or "<root>"
            for name, module in model.named_modules()
            if modules == "all" or not any(True for _ in module.children())
        }

        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            name = names.get(module)
            if name is not None:
                if module is model and logits_in is not None:
                    output = logits_in(output)
                self._record(name, module, inputs, output)

        handle = register_module_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def values(self) -> dict[Statistic, FeatureValues]:
        for shape in self._waiting:
            self._reduce(shape)
        order = [position for positions, _ in self._reduced for position in positions]
        not_finite = sum(position in self._not_finite for position in self._positions)
        found = {}
        for index, statistic in enumerate(self._statistics):
            values = torch.zeros(self._different, dtype=torch.float64)
            values[order] = torch.cat([torch.zeros(0), *(reduced[index] for _, reduced in self._reduced)])
            found[statistic] = FeatureValues(tuple(self._names), values[self._positions], not_finite, self._matrices)
        return found

    def _record(self, name: str, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        tensor = output if isinstance(output, Tensor) else _first_tensor(output)
        if tensor is None:
            return
        handed_on = "one sample" if tensor is output else "whole batch"
        position = self._known(handed_on, tensor)
        origin = action = None
        settings = _STATELESS.get(type(module))
        if settings is not None and inputs and inputs[0] is not output:
            origin, action = inputs[0], (type(module), repr(settings(module)))
            position = self._known(action, origin) if position is None else position
        if position is None:
            position = self._different
            self._different += 1
            self._keep(tensor.select(0, 0) if tensor is output and tensor.ndim else tensor, position, module)
        self._seen[handed_on, id(tensor)] = (ref(tensor), tensor._version, position)
        if origin is not None:
            self._seen[action, id(origin)] = (ref(origin), origin._version, position)
        self._names.append(name)
        self._positions.append(position)

    def _known(self, action: Hashable, tensor: Tensor) -> int | None:
        """Return the position of the result of this action on this tensor, if the tensor has not changed since."""
        reference, version, position = self._seen.get((action, id(tensor)), (None, 0, 0))
        unchanged = reference is not None and reference() is tensor and version == tensor._version
        return position if unchanged else None

    def _keep(self, feature: Tensor, position: int, module: nn.Module) -> None:
        matrix = feature.reshape(feature.shape[0] if feature.ndim else 1, -1).double()
        self._matrices += min(matrix.shape) > 1
        by_columns = matrix.shape[0] >= matrix.shape[1]
        gram = torch.mm(matrix.t(), matrix) if by_columns else torch.mm(matrix, matrix.t())
        row_gram = torch.mm(matrix, matrix.t()) if by_columns and self._by_rows else gram
        row_sums = matrix.sum(1) if self._by_rows else gram
        waiting = self._waiting[matrix.shape]
        waiting.append((position, module, gram, row_gram, row_sums))
        if len(waiting) * gram.numel() > _WAITING_LIMIT:
            self._reduce(matrix.shape)

    def _reduce(self, shape: torch.Size) -> None:
        if not self._waiting[shape]:
            return
        positions, modules, *kept = zip(*self._waiting[shape], strict=True)
        self._waiting[shape].clear()
        grams = torch.stack(kept[0])
        # without statistics by rows, all three are the same
        row_grams, row_sums = map(torch.stack, kept[1:]) if self._by_rows else (grams, grams)
        stack = MapStack(shape[0], shape[1], modules, grams, row_grams, row_sums)
        finite = stack.energies.isfinite()
        if not bool(finite.all()):
            self._not_finite |= {
                position for position, fine in zip(positions, finite.tolist(), strict=True) if not fine
            }
            for tensor in (grams, row_grams, row_sums):
                tensor[~finite] = 0.0
            stack = replace(stack)  # drops the cached energies
        found = [reduce(stack, random).cpu() for reduce, random in self._statistics.items()]
        self._reduced.append((list(positions), found))


def _first_tensor(output: Any) -> Tensor | None:
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], Tensor):
        return output[0]
    return None
