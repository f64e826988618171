"""Observe a network without a trace: whatever a measurement changes is restored when it ends."""

from __future__ import annotations

import operator
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy


def broken_weights(model: nn.Module) -> str:
    """Say which weights and buffers are NaN or infinite; "" if none is."""
    names = [name for name, tensor in model.state_dict().items() if not bool(tensor.isfinite().all())]
    return f"weights that are NaN or infinite: {', '.join(names[:5])}{', ...' * (len(names) > 5)}" if names else ""


def modules_of(model: nn.Module) -> list[nn.Module]:
    """Return the modules of a model in the order of `model.modules()`, whose time grows with their depth."""
    found: dict[nn.Module, None] = {}
    waiting = [model]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = None
            waiting += [child for child in reversed(module._modules.values()) if child is not None]
    return list(found)


@contextmanager
def undisturbed(model: nn.Module, *, training: bool, seed: int) -> Iterator[None]:
    """Put the model in the given mode and seed all random generators; restore everything afterwards.

    Restores each module's mode and other attributes, its parameters, submodules and hooks by name, every buffer
    (running statistics and their counters), gradients, `requires_grad`, and the random state of PyTorch (CPU and the
    model's devices), NumPy and Python. Measurements remove their own hooks. Values that the model writes into its own
    weights stay; see `keeping_weights`.
    """
    modules = modules_of(model)
    # a tensor that a forward pass stores in an attribute would keep its whole graph alive
    attributes = [(module.__dict__, dict(module.__dict__)) for module in modules]
    registers = [register for there, _ in attributes for register in _registers(there)]
    filled = [(register, dict(register)) for register in registers if register]  # most registers are empty
    tensors = [tensor for module in modules for tensor in module._parameters.values() if tensor is not None]
    parameters = [(tensor, tensor.requires_grad, tensor.grad) for tensor in tensors]
    python_state, numpy_state = random.getstate(), np.random.get_state()
    accelerators = _accelerators(model)
    device_type = accelerators[0].type if accelerators else "cuda"
    with torch.random.fork_rng(devices=accelerators, device_type=device_type):
        try:
            if accelerators:
                torch.manual_seed(seed)
            else:  # torch.manual_seed asks every backend, which takes 40 times as long
                torch.default_generator.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed % 2**32)
            for module in modules:
                _set_mode(module, training)
            for parameter, _, gradient in parameters:
                if gradient is not None:  # a model that calls backward() itself would add to it
                    parameter.grad = None
            _lend_copies([module._buffers for module in modules if module._buffers])
            yield
        finally:
            for register in registers:
                if register:
                    register.clear()
            for owner, original in filled:
                owner.update(original)
            for owner, original in attributes:
                owner.clear()
                owner.update(original)
            for parameter, required, gradient in parameters:
                if parameter.requires_grad != required:
                    parameter.requires_grad_(required)
                if parameter.grad is not gradient:
                    parameter.grad = gradient
            random.setstate(python_state)
            np.random.set_state(numpy_state)


@contextmanager
def keeping_weights(model: nn.Module) -> Iterator[list[Tensor]]:
    """Restore weights and buffers that change, as layers with a norm constraint or a user's own proxy change them.

    Yields a list that holds the changed tensors in the end.
    """
    there = [tensor for tensor in (*model.parameters(), *model.buffers()) if not is_lazy(tensor) and not tensor.is_meta]
    before = [(tensor, tensor.data, tensor.detach().clone()) for tensor in there]
    changed: list[Tensor] = []
    try:
        yield changed
    finally:
        for tensor, place, numbers in before:
            if tensor.data is not place:
                tensor.data = place
            if not torch.equal(place, numbers):
                place.copy_(numbers)
                changed.append(tensor)


@contextmanager
def hooked(modules: Iterable[nn.Module], hook: Callable[..., Any], *, before: bool = False) -> Iterator[None]:
    """Call `hook` after the forward pass of each module, or before it; the hooks are removed afterwards."""
    handles = [
        module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook) for module in modules
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class LayerListener(ABC):
    """Keeps a tensor of each layer in the forward pass, and meets it with the gradient of the layer's output.

    Each call of a layer is met once, and only in backward passes within `listening`; other backward passes through the
    same graph are ignored.

    Args:
        copies: Copy the tensors.

    Attributes:
        overwritten: True if a later layer wrote into a tensor that was not copied, so that the measurement is void.
        cut_off: True if no gradient can reach some layer, because nothing before it is differentiated.
        unmet: The layers that no gradient has reached yet.
    """

    def __init__(self, copies: bool) -> None:
        self.overwritten = False
        self.cut_off = False
        self._unmet: dict[object, nn.Module] = {}
        self._copies = copies
        self._listening = False

    @abstractmethod
    def keep(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """Return the tensor to keep."""

    @abstractmethod
    def meet(self, layer: nn.Module, kept: Tensor, gradient: Tensor) -> None:
        """Measure, given the kept tensor and the gradient of the layer's output."""

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
    """Return the state of the generator on the model's device; a pass that changes it is random."""
    accelerators = _accelerators(model)
    return torch.get_device_module(accelerators[0]).get_rng_state() if accelerators else torch.get_rng_state()


# The attributes in which a module keeps its parameters, buffers, submodules and hooks by name
_REGISTERS = [name for name, value in vars(nn.Module()).items() if isinstance(value, dict)]


_all_registers = operator.itemgetter(*_REGISTERS)


def _registers(attributes: dict[str, Any]) -> Sequence[dict[str, Any]]:
    try:
        found: tuple[dict[str, Any], ...] = _all_registers(attributes)
    except KeyError:  # a model saved by an older version of PyTorch
        return [attributes[name] for name in _REGISTERS if name in attributes]
    return found


def _set_mode(module: nn.Module, training: bool) -> None:
    if "training" in module.__dict__:  # assigning to a module takes ten times as long
        module.__dict__["training"] = training
    else:
        module.training = training


def _lend_copies(owners: list[dict[str, Tensor | None]]) -> None:
    """Replace buffers by copies; a buffer that several modules share stays shared."""
    copies: dict[int, Tensor] = {}
    for buffers in owners:
        for name, buffer in buffers.items():
            if buffer is not None:
                buffers[name] = copies.setdefault(id(buffer), buffer.clone())


def device_of(model: nn.Module) -> torch.device:
    """Return the device of the model's first parameter or buffer; the CPU if it has none."""
    tensor = _first_tensor(model)
    return torch.device("cpu") if tensor is None else tensor.device


def dtype_of(model: nn.Module) -> torch.dtype | None:
    """Return the precision of the model's first floating-point parameter; None if it has none."""
    return next((p.dtype for p in model.parameters() if p.dtype.is_floating_point), None)


def _first_tensor(model: nn.Module) -> Tensor | None:
    return next(model.parameters(), next(model.buffers(), None))


def _accelerators(model: nn.Module) -> list[torch.device]:
    device = device_of(model)
    return [] if device.type in ("cpu", "meta") else [device]
