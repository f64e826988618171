"""PyTorch's own layers as constructor calls: `nn.Conv2d(3, 16, 3, padding=1, bias=False)`."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.export.expressions import Argument, Call, Slot

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
# What may differ in a subclass of a layer that still computes the same
HARMLESS = {"__init__", "reset_parameters", "extra_repr", "__repr__", "__doc__", "__module__", "__annotations__"}
# Not settings of a layer, but of where and how its weights are stored
PLACES = {"self", "device", "dtype"}
# Layers keep these settings only as weights that exist or not
KEPT_AS_WEIGHTS = {"bias": ("bias", "in_proj_bias"), "add_bias_kv": ("bias_k",)}
DIRECTIONS = {"kernel_size", "stride", "padding", "dilation", "output_padding", "output_size"}
RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size")


def torch_type(module: nn.Module) -> type[nn.Module]:
    """Return the class of PyTorch that a module is an instance of."""
    return next(entry for entry in type(module).__mro__ if entry.__module__.startswith("torch.nn."))


def is_layer(module: nn.Module) -> bool:
    """Whether a module computes what a layer of PyTorch does, and is not a container."""
    known = torch_type(module)
    if known is nn.Module or issubclass(known, CONTAINERS):
        return False
    return not any(_overrides(entry, known) for entry in _own_classes(module, known))


def is_plain_sequence(module: nn.Module) -> bool:
    """Whether a module calls its children one after the other, as `nn.Sequential` does."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _own_classes(module: nn.Module, known: type[nn.Module]) -> list[type]:
    return list(type(module).__mro__[: type(module).__mro__.index(known)])


def _overrides(entry: type, known: type[nn.Module]) -> bool:
    return any(name not in HARMLESS and hasattr(known, name) for name, value in vars(entry).items() if callable(value))


def layer_call(module: nn.Module) -> Call:
    """Return the call that makes such a layer, without settings at their default."""
    known = torch_type(module)
    call = Call(f"nn.{known.__name__}", [])
    if getattr(nn, known.__name__, None) is not known:
        raise UnsupportedError(f"{known.__module__}.{known.__name__} is not a layer of torch.nn")
    for name, default, required in _settings(known):
        if not _has(module, name):
            if required:
                raise UnsupportedError(f"nn.{known.__name__} does not store its setting {name}")
            continue
        usual = ... if required else _plain(name, default)
        call.arguments.append(Argument(name, Slot(name, _plain(name, _value(module, name)), usual), required))
    return call


def _settings(known: type[nn.Module]) -> list[tuple[str, Any, bool]]:
    if issubclass(known, nn.RNNBase):
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        usual["proj_size"] = 0
        names = RECURRENT if known is nn.LSTM else RECURRENT[:-1]
        return [(name, usual.get(name), name not in usual) for name in names]
    parameters = [
        parameter
        for parameter in inspect.signature(known.__init__).parameters.values()
        if parameter.name not in PLACES and not parameter.name.startswith("_")
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    return [(each.name, each.default, each.default is inspect.Parameter.empty) for each in parameters]


def _has(module: nn.Module, name: str) -> bool:
    return any(hasattr(module, each) for each in KEPT_AS_WEIGHTS.get(name, (name,)))


def _value(module: nn.Module, name: str) -> Any:
    if name in KEPT_AS_WEIGHTS and not isinstance(getattr(module, name, None), bool):
        return any(getattr(module, each, None) is not None for each in KEPT_AS_WEIGHTS[name])
    return getattr(module, name)


def _plain(name: str, value: Any) -> Any:
    """Return one number for a tuple of equal numbers."""
    same = isinstance(value, tuple) and len(set(value)) == 1
    return value[0] if same and (name in DIRECTIONS or (name == "normalized_shape" and len(value) == 1)) else value
