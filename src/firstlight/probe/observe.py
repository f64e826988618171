"""Watching a network without leaving a trace: whatever a measurement changes is put back when it ends."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy


@contextmanager
def undisturbed(model: nn.Module, *, training: bool, seed: int) -> Iterator[None]:
    """Run with `model` in the given mode and all random streams set to `seed`; afterwards restore everything.

    Restored are each module's mode and other attributes, its parameters, submodules and hooks by name, every buffer
    (running statistics and their counters), gradients, what is frozen, and the random state of PyTorch on the CPU and
    on the model's devices, of NumPy and of Python. Measurements remove their own hooks; numbers that the model writes
    into its own weights stay (see `keeping_weights`).
    """
    modules = list(model.modules())
    # what a forward pass stores in attributes would keep its whole graph alive
    owned = [owner for module in modules for owner in (module.__dict__, *_registers(module))]
    before = [dict(owner) if owner else None for owner in owned]  # most are without any hooks
    tensors = [tensor for module in modules for tensor in module._parameters.values() if tensor is not None]
    parameters = [(tensor, tensor.requires_grad, tensor.grad) for tensor in tensors]
    python_state, numpy_state = random.getstate(), np.random.get_state()
    accelerators = _accelerators(model)
    device_type = accelerators[0].type if accelerators else "cuda"
    with torch.random.fork_rng(devices=accelerators, device_type=device_type):
        try:
            if accelerators:
                torch.manual_seed(seed)
            else:  # torch.manual_seed would ask every backend there is, which takes 40 times as long
                torch.default_generator.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed % 2**32)
            for module in modules:
                module.training = training
            for parameter, _, gradient in parameters:
                if gradient is not None:  # a model that calls backward() itself would add to it
                    parameter.grad = None
            _lend_copies([module._buffers for module in modules if module._buffers])
            yield
        finally:
            for owner, original in zip(owned, before, strict=True):
                if owner:
                    owner.clear()
                if original:
                    owner.update(original)
            for parameter, required, gradient in parameters:
                if parameter.requires_grad != required:
                    parameter.requires_grad_(required)
                if parameter.grad is not gradient:
                    parameter.grad = gradient
            random.setstate(python_state)
            np.random.set_state(numpy_state)


@contextmanager
def keeping_weights(model: nn.Module) -> Iterator[None]:
    """Put back the weights that the model itself writes into as it runs, as layers do that keep their norms small."""
    there = [parameter for parameter in model.parameters() if not is_lazy(parameter) and not parameter.is_meta]
    before = [(parameter, parameter.data, parameter.detach().clone()) for parameter in there]
    try:
        yield
    finally:
        for parameter, place, numbers in before:
            parameter.data = place
            if not torch.equal(place, numbers):
                place.copy_(numbers)


@contextmanager
def hooked(modules: Iterable[nn.Module], hook: Callable[..., Any], *, before: bool = False) -> Iterator[None]:
    """Have `hook` called behind the forward pass of each module, or before it; gone afterwards."""
    handles = [
        module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook) for module in modules
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class LayerListener(ABC):
    """Keeps a tensor of each layer on the way forward, and meets it again with the gradient of the layer's output.

    With `copies` the tensors are copied; without, `overwritten` tells whether a later layer wrote into one of them, so
    that what was measured means nothing. `cut_off` tells whether there was a layer that no gradient could come to,
    since nothing before it is differentiated; `unmet` are the layers that none has come to yet. Each call is met once,
    and only in backward passes of `listening`; others through the same graph are let pass.
    """

    def __init__(self, copies: bool) -> None:
        self.overwritten = False
        self.cut_off = False
        self._unmet: dict[object, nn.Module] = {}
        self._copies = copies
        self._listening = False

    @abstractmethod
    def keep(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """The tensor to be met again."""

    @abstractmethod
    def meet(self, layer: nn.Module, kept: Tensor, gradient: Tensor) -> None:
        """Measure, from what was kept and the gradient of the layer's output."""

    @property
    def unmet(self) -> list[nn.Module]:
        return list(self._unmet.values())

    def watching(self, layers: Iterable[nn.Module]) -> AbstractContextManager[None]:
        return hooked(layers, self._forward)

    @contextmanager
    def listening(self) -> Iterator[None]:
        self._listening = True
        yield
        self._listening = False

    def _forward(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not output.requires_grad:
            self.cut_off = True
            return
        kept = self.keep(layer, inputs, output).detach()
        version = kept._version
        if self._copies:
            kept = kept.clone()
        call = object()
        self._unmet[call] = layer

        def backward(gradient: Tensor) -> None:
            if self._listening and call in self._unmet:
                del self._unmet[call]
                self.overwritten |= not self._copies and kept._version != version
                self.meet(layer, kept, gradient.detach())

        output.register_hook(backward)


def random_state(model: nn.Module) -> Tensor:
    """Of the generator that layers on the model's device draw from: what changes it is random."""
    accelerators = _accelerators(model)
    return torch.get_device_module(accelerators[0]).get_rng_state() if accelerators else torch.get_rng_state()


# In which a module has its parameters, buffers, submodules and hooks by name
_REGISTERS = [name for name, value in vars(nn.Module()).items() if isinstance(value, dict)]


def _registers(module: nn.Module) -> list[dict[str, Any]]:
    attributes = module.__dict__
    return [attributes[name] for name in _REGISTERS if name in attributes]


def _lend_copies(owners: list[dict[str, Tensor | None]]) -> None:
    """Let modules work on copies of their buffers; one buffer that several modules share stays one."""
    copies: dict[int, Tensor] = {}
    for buffers in owners:
        for name, buffer in buffers.items():
            if buffer is not None:
                buffers[name] = copies.setdefault(id(buffer), buffer.clone())


def device_of(model: nn.Module) -> torch.device:
    """Where the model lives: the device of its first parameter or buffer, else the CPU."""
    tensor = _first_tensor(model)
    return torch.device("cpu") if tensor is None else tensor.device


def dtype_of(model: nn.Module) -> torch.dtype | None:
    """The precision the model computes in: that of its first floating-point parameter; None if it has none."""
    return next((p.dtype for p in model.parameters() if p.dtype.is_floating_point), None)


def _first_tensor(model: nn.Module) -> Tensor | None:
    return next(model.parameters(), next(model.buffers(), None))


def _accelerators(model: nn.Module) -> list[torch.device]:
    device = device_of(model)
    return [] if device.type in ("cpu", "meta") else [device]
