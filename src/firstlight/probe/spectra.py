"""Singular values of feature maps: how linearly independent the channels of each layer's output are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from weakref import ref

import torch
from torch import Tensor, nn

Modules = Literal["all", "leaf"]

# Gram matrices wait to be decomposed together; this bounds what waits (in float64 entries, 32 MiB)
_PENDING_LIMIT = 2**22
# A normalisation layer answers with entries of size one, unless it was fed a constant and amplifies rounding noise
_NOISE_RMS = 1e-3


@dataclass(frozen=True)
class FeatureSpectra:
    """For each module call, in order: the module's name, and the extreme singular values of its first sample's output.

    The output is read as a matrix with one row for each entry of its first dimension: channels of a convolution,
    tokens of a transformer, units of a vector.
    """

    names: tuple[str, ...]
    smallest: Tensor
    largest: Tensor

    @property
    def inverse_condition(self) -> Tensor:
        """sigma_min / sigma_max of each call; 0 for a map that is zero everywhere."""
        return torch.where(self.largest > 0, self.smallest / self.largest, 0.0)


class SpectraRecorder:
    """Hooks that reduce each output to two numbers as it passes, and let the feature map go.

    An output that a module merely hands on (a container's last child, an identity) is recognised as the same unchanged
    tensor and decomposed once. Gram matrices of equal size are decomposed in one call.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._positions: list[int] = []  # of each call's numbers in _smallest and _largest
        self._smallest: list[float] = []
        self._largest: list[float] = []
        self._pending: dict[int, list[tuple[int, Tensor, float]]] = defaultdict(list)
        self._seen: dict[int, tuple[ref[Tensor], int, int]] = {}  # id -> (tensor, its version, position)

    @contextmanager
    def watching(self, model: nn.Module, modules: Modules) -> Iterator[None]:
        handles = [
            module.register_forward_hook(self._hook(name or "<root>", module))
            for name, module in model.named_modules()
            if modules == "all" or not any(True for _ in module.children())
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def spectra(self) -> FeatureSpectra:
        for size in list(self._pending):
            self._decompose(size)
        smallest = torch.tensor(self._smallest, dtype=torch.float64)[self._positions]
        largest = torch.tensor(self._largest, dtype=torch.float64)[self._positions]
        return FeatureSpectra(tuple(self._names), smallest, largest)

    def _hook(self, name: str, module: nn.Module) -> Any:
        normalises = isinstance(module, (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm))

        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            tensor = output if isinstance(output, Tensor) else _first_tensor(output)
            if tensor is None:
                return
            self._names.append(name)
            self._positions.append(self._position(tensor, whole=tensor is not output, normalises=normalises))

        return hook

    def _position(self, tensor: Tensor, *, whole: bool, normalises: bool) -> int:
        known = self._seen.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == tensor._version:
            return known[2]
        position = len(self._smallest)
        self._smallest.append(0.0)
        self._largest.append(0.0)
        self._measure(tensor.detach() if whole or tensor.ndim == 0 else tensor.detach()[0], position, normalises)
        self._seen[id(tensor)] = (ref(tensor), tensor._version, position)
        return position

    def _measure(self, feature: Tensor, position: int, normalises: bool) -> None:
        rows = feature.shape[0] if feature.ndim else 1
        matrix = feature.reshape(rows, -1).double()
        if min(matrix.shape) <= 1:
            self._smallest[position] = self._largest[position] = float(torch.linalg.vector_norm(matrix))
            return
        gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        noise = _NOISE_RMS**2 * matrix.numel() if normalises else 0.0
        waiting = self._pending[gram.shape[0]]
        waiting.append((position, gram, noise))
        if len(waiting) * gram.numel() > _PENDING_LIMIT:
            self._decompose(gram.shape[0])

    def _decompose(self, size: int) -> None:
        waiting = self._pending.pop(size)
        grams = torch.stack([gram for _, gram, _ in waiting])
        traces = grams.diagonal(dim1=1, dim2=2).sum(1)  # finite only if every entry of the feature map is
        meaningful = traces.isfinite() & (
            traces > torch.tensor([noise for _, _, noise in waiting], device=traces.device)
        )
        positions = [position for (position, _, _), keep in zip(waiting, meaningful.tolist(), strict=True) if keep]
        squares = torch.linalg.eigvalsh(grams[meaningful])[:, [0, -1]].clamp(min=0)
        for position, (low, high) in zip(positions, squares.sqrt().tolist(), strict=True):
            self._smallest[position], self._largest[position] = low, high


def _first_tensor(output: Any) -> Tensor | None:
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], Tensor):
        return output[0]
    return None
