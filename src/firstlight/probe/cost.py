"""The cost of a network: parameters, multiply-accumulates, activations and memory."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry


@dataclass(frozen=True)
class Cost:
    """Parameters and multiply-accumulates.

    Attributes:
        params: The number of parameters.
        macs: The multiply-accumulates of convolutions and matrix products for one input (FLOPs / 2). Recurrent layers
            are fused kernels without a formula and count as 0.
    """

    params: int
    macs: int


@dataclass(frozen=True)
class Footprint:
    """Activations and memory.

    Attributes:
        activations: The number of outputs of convolutions and matrix products for one input.
        memory: The peak memory of a forward pass of one input, in bytes: weights, buffers, and all tensors that are
            alive at the same time. It is what plain PyTorch holds without gradients, apart from the workspace of its
            kernels.
    """

    activations: int
    memory: int


class _Observer(TorchDispatchMode):
    """A dispatch mode that observes every operation of PyTorch."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        self.record(flop_registry.get(func._overloadpacket), out, args, kwargs or {})
        return out

    def record(
        self, formula: Callable[..., int] | None, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Record an operation; `formula` counts its FLOPs, if it is a convolution or matrix product."""
        raise NotImplementedError


class _FlopCounter(_Observer):
    """Adds up PyTorch's own FLOP formulas; faster than `FlopCounterMode`, which also counts by module."""

    total = 0

    def record(
        self, formula: Callable[..., int] | None, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        if formula is not None:
            self.total += formula(*args, **kwargs, out_val=out)


class _FootprintCounter(_Observer):
    """Counts the outputs of products, and tracks which storages are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.activations = 0
        self.peak = 0
        self._alive = 0
        self._users: Counter[int] = Counter()  # how many tensors share a storage

    def record(
        self, formula: Callable[..., int] | None, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
        if formula is not None:
            self.activations += made[0].numel()
        for tensor in made:
            self.follow(tensor)

    def hold(self, *tensors: Tensor) -> None:
        """Count tensors that stay alive throughout."""
        for tensor in tensors:
            self._count(tensor)

    def follow(self, tensor: Tensor) -> None:
        weakref.finalize(tensor, self._forget, *self._count(tensor))

    def _count(self, tensor: Tensor) -> tuple[int, int]:
        storage = tensor.untyped_storage()
        address, size = storage._cdata, storage.nbytes()
        if not self._users[address]:
            self._alive += size
            self.peak = max(self.peak, self._alive)
        self._users[address] += 1
        return address, size

    def _forget(self, address: int, size: int) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            del self._users[address]
            self._alive -= size


def measure_cost(model: nn.Module, *inputs: Tensor, **named: Tensor) -> Cost:
    """Count one forward pass of `model` on `inputs`; nothing is computed where both live on the meta device."""
    counter = _FlopCounter()
    with plain_kernels(), counter:
        model(*inputs, **named)
    return Cost(params=sum(parameter.numel() for parameter in model.parameters()), macs=counter.total // 2)


def measure_footprint(model: nn.Module, *inputs: Tensor, **named: Tensor) -> Footprint:
    """Count activations and memory of one forward pass, that of the inputs included."""
    counter = _FootprintCounter()
    counter.hold(*model.parameters(), *model.buffers(), *inputs, *named.values())
    with plain_kernels(), counter:
        model(*inputs, **named)
    return Footprint(counter.activations, counter.peak)


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Disable gradients and fused attention kernels, which have no FLOP formula."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        # in inference mode, linear layers would bypass the counter
        with torch.inference_mode(False), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
