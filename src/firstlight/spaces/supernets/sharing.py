"""Modules that use the weights of another network, or a part of them, without copying any."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from firstlight.core.errors import UnsupportedError
from firstlight.spaces.ops import Linear

M = TypeVar("M", bound=nn.Module)
REMEMBERED = 8  # outputs; proxies look at four batches
Span = tuple[int, int]  # columns, or rows, from the first to before the last


class Unseen:
    """A module that another one runs without having it, and without a graph unless inputs are differentiated.

    What it gave for the last inputs is remembered, as long as its weights do not change: proxies ask for the same
    batches over and over.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._parameters = list(module.parameters())
        self._known: deque[tuple[tuple[Tensor, ...], list[int], Tensor]] = deque(maxlen=REMEMBERED)

    def __call__(self, *inputs: Tensor) -> Tensor:
        if inputs[0].dtype != self._parameters[0].dtype:
            raise UnsupportedError(
                f"the layers before the final one are frozen and compute in {self._parameters[0].dtype}, and are given "
                f"{inputs[0].dtype}; what needs other weights or precision takes a subnet that is not frozen."
            )
        out: Tensor
        if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
            out = self.module(*inputs)
            return out
        versions = [parameter._version for parameter in self._parameters]
        for known, then, out in self._known:
            if then == versions and all(map(torch.equal, known, inputs)):
                return out
        # whoever asked for attention that can be differentiated twice does not need it here
        with torch.no_grad(), sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            out = self.module(*inputs)
        self._known.append((tuple(x.detach().clone() for x in inputs), versions, out))
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Unseen:
        return self


def sharing_copy(module: M) -> M:
    """A module of its own with parameters of its own, whose numbers are those of the other one."""
    return copy.deepcopy(module, {id(p): nn.Parameter(p.detach(), p.requires_grad) for p in module.parameters()})


class SomeColumns(Linear):
    """The linear map for inputs of which only these columns are given, since the others are zero.

    Outputs can be limited to some of them, too.
    """

    def __init__(self, whole: nn.Linear, columns: Sequence[Span], outputs: Span | None = None) -> None:
        nn.Module.__init__(self)
        self.weight, self.bias = whole.weight, whole.bias
        self.columns, self.outputs = joined(columns), slice(*outputs) if outputs else slice(None)
        self.in_features = sum(stop - start for start, stop in columns)
        self.out_features = whole.out_features if outputs is None else outputs[1] - outputs[0]

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight[self.outputs]
        bias = None if self.bias is None else self.bias[self.outputs]
        pieces = x.split([stop - start for start, stop in self.columns], -1)
        (start, stop), *others = self.columns
        out = F.linear(pieces[0], weight[:, start:stop], bias)
        for piece, (start, stop) in zip(pieces[1:], others, strict=True):
            out = out + F.linear(piece, weight[:, start:stop])
        return out


def joined(columns: Sequence[Span]) -> list[Span]:
    """The same columns in as few pieces as there can be."""
    pieces: list[Span] = []
    for start, stop in columns:
        if pieces and pieces[-1][1] == start:
            start = pieces.pop()[0]
        pieces.append((start, stop))
    return pieces
