"""Singular values of feature maps: how linearly independent the channels of each layer's output are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal
from weakref import ref

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

Modules = Literal["all", "leaf"]

# Gram matrices of one size wait to be decomposed together; this bounds how many (in float64 entries, 32 MiB)
_PENDING_LIMIT = 2**22
_STATELESS = {nn.ReLU, nn.AvgPool2d, nn.MaxPool2d}
_NORMALISING = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
# A normalisation layer answers with entries of the size of its gain, unless it was fed a constant: then with noise
_NOISE_RMS = 1e-3


@dataclass(frozen=True)
class FeatureSpectra:
    """For each module call, in order: the module's name, and the extreme singular values of its first sample's output.

    The output is read as a matrix with one row for each entry of its first dimension: channels of a convolution,
    tokens of a transformer, units of a vector. `inverse_condition` is sigma_min / sigma_max of each call, and 0 for a
    map that is zero everywhere or not finite; `not_finite` counts the latter.
    """

    names: tuple[str, ...]
    inverse_condition: Tensor
    not_finite: int
    _largest: Tensor
    _postponed: tuple[tuple[list[int], Tensor], ...]

    @cached_property
    def largest(self) -> Tensor:
        """sigma_max of each call. Maps known to be rank-deficient are decomposed only if this is asked for."""
        largest = self._largest.clone()
        for calls, gram in self._postponed:
            largest[calls] = float(torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt())
        return largest


class SpectraRecorder:
    """A hook that reduces each output to two numbers as it passes, and lets the feature map go.

    What is bound to be equal is decomposed once: an output that a module merely hands on (a container's last child, an
    identity), and what stateless layers of one kind make of the same tensor. Gram matrices of equal size are decomposed
    in one call.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._positions: list[int] = []  # of each call's numbers in _smallest and _largest
        self._smallest: list[float] = []
        self._largest: list[float] = []
        self._not_finite = 0
        self._deficient: list[tuple[int, Tensor]] = []
        self._pending: dict[int, list[tuple[int, Tensor, int, nn.Module | None]]] = defaultdict(list)
        # (what was done, id of the tensor it was done to) -> (that tensor, its version then, position of the result)
        self._seen: dict[tuple[Hashable, int], tuple[ref[Tensor], int, int]] = {}

    @contextmanager
    def watching(self, model: nn.Module, modules: Modules) -> Iterator[None]:
        """Record the calls of the model's modules; one hook for all of them leaves the modules themselves untouched."""
        names = {
            module: name or "<root>"
            for name, module in model.named_modules()
            if modules == "all" or not any(True for _ in module.children())
        }

        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            name = names.get(module)
            if name is not None:
                self._record(name, module, inputs, output)

        handle = register_module_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def spectra(self) -> FeatureSpectra:
        for size in list(self._pending):
            self._decompose(size)
        positions = torch.tensor(self._positions, dtype=torch.int64)
        smallest = torch.tensor(self._smallest, dtype=torch.float64)[positions]
        largest = torch.tensor(self._largest, dtype=torch.float64)[positions]
        postponed = ((torch.nonzero(positions == position)[:, 0].tolist(), gram) for position, gram in self._deficient)
        ratio = torch.where(largest > 0, smallest / largest, 0.0)
        return FeatureSpectra(tuple(self._names), ratio, self._not_finite, largest, tuple(postponed))

    def _record(self, name: str, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        tensor = output if isinstance(output, Tensor) else _first_tensor(output)
        if tensor is None:
            return
        handed_on = "one sample" if tensor is output else "whole batch"
        position = self._known(handed_on, tensor)
        origin = action = None
        if type(module) in _STATELESS and inputs and inputs[0] is not output:
            origin, action = inputs[0], _settings_of(module)
            position = self._known(action, origin) if position is None else position
        if position is None:
            position = len(self._smallest)
            self._smallest.append(0.0)
            self._largest.append(0.0)
            feature = tensor[0] if tensor is output and tensor.ndim else tensor
            self._measure(feature, position, module if isinstance(module, _NORMALISING) else None)
        self._seen[handed_on, id(tensor)] = (ref(tensor), tensor._version, position)
        if origin is not None:
            self._seen[action, id(origin)] = (ref(origin), origin._version, position)
        self._names.append(name)
        self._positions.append(position)

    def _known(self, action: Hashable, tensor: Tensor) -> int | None:
        """Where the result of the action on this very tensor stands, if neither has changed since."""
        reference, version, position = self._seen.get((action, id(tensor)), (None, 0, 0))
        unchanged = reference is not None and reference() is tensor and version == tensor._version
        return position if unchanged else None

    def _measure(self, feature: Tensor, position: int, normalisation: nn.Module | None) -> None:
        rows = feature.shape[0] if feature.ndim else 1
        matrix = feature.reshape(rows, -1).double()
        if min(matrix.shape) <= 1:
            norm = float(torch.linalg.vector_norm(matrix))
            self._not_finite += not math.isfinite(norm)
            self._smallest[position] = self._largest[position] = norm if math.isfinite(norm) else 0.0
            return
        gram = torch.mm(matrix, matrix.t()) if matrix.shape[0] <= matrix.shape[1] else torch.mm(matrix.t(), matrix)
        if normalisation is not None and matrix.shape[0] >= matrix.shape[1] and _rows_are_centred(matrix, gram):
            self._deficient.append((position, gram))
            return
        waiting = self._pending[gram.shape[0]]
        waiting.append((position, gram, matrix.numel(), normalisation))
        if len(waiting) * gram.numel() > _PENDING_LIMIT:
            self._decompose(gram.shape[0])

    def _decompose(self, size: int) -> None:
        waiting = self._pending.pop(size)
        grams = torch.stack([gram for _, gram, _, _ in waiting])
        traces = grams.diagonal(dim1=1, dim2=2).sum(1)  # not finite if any entry of the feature map is not
        if not bool(traces.isfinite().all()):
            self._not_finite += int((~traces.isfinite()).sum())
            grams = torch.where(traces.isfinite()[:, None, None], grams, 0.0)
        eigenvalues = torch.linalg.eigvalsh(grams)
        lows, highs = (eigenvalues[:, end].clamp(min=0).sqrt().tolist() for end in (0, -1))
        for (position, _, entries, module), trace, low, high in zip(waiting, traces.tolist(), lows, highs, strict=True):
            if module is None or not _is_noise(trace / entries, module):
                self._smallest[position], self._largest[position] = low, high


def _settings_of(module: nn.Module) -> Hashable:
    """What a stateless layer does: equal for layers that do the same."""
    settings = (value for name, value in vars(module).items() if name[0] != "_" and name != "training")
    return type(module), *map(repr, settings)


def _is_noise(mean_square: float, normalisation: nn.Module) -> bool:
    """Whether a normalisation's output is far smaller than its gain: it was fed a constant and amplifies rounding."""
    if mean_square > 0.1:  # the usual case, for any gain below 300
        return False
    weight = getattr(normalisation, "weight", None)
    gain = 1.0 if weight is None else float(weight.detach().square().mean())
    return mean_square <= _NOISE_RMS**2 * gain


def _rows_are_centred(matrix: Tensor, gram: Tensor) -> bool:
    """Whether the vector of ones is in the null space, so that the smallest of the singular values is zero."""
    return float(torch.linalg.vector_norm(matrix.sum(1))) ** 2 <= 1e-10 * float(gram.trace())


def _first_tensor(output: Any) -> Tensor | None:
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], Tensor):
        return output[0]
    return None
