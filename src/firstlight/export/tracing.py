"""Trace a module into a graph of operations and of calls to its children.

torch.fx records, and every recorded value has a twin on the meta device. The twin answers when Python code asks for a
shape, the number of dimensions or the number of tensors, so that the code can continue.
"""

from __future__ import annotations

import copy
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, fx, nn
from torch.fx.node import map_aggregate

from firstlight.core.errors import UnsupportedError
from firstlight.export.layers import is_layer, is_plain_sequence


class UntraceableError(UnsupportedError):
    """A network that is not a fixed sequence of operations."""


@dataclass(frozen=True)
class Argument:
    """An argument of a forward pass. One that is not `recorded` is a constant and becomes part of the code."""

    name: str
    value: Any
    recorded: bool
    by_keyword: bool = False

    @property
    def constant(self) -> tuple[Any, ...]:
        return (self.name, self.recorded, None if self.recorded else repr(self.value))


Outputs: TypeAlias = dict[nn.Module, list[Any]]  # of all calls of each module


class Forward:
    """The graph of a module's forward pass, and the arguments of its calls to descendants, by path."""

    def __init__(self, module: nn.Module, arguments: list[Argument], outputs: Outputs) -> None:
        tracer = _Tracer(arguments, outputs)
        self.graph = tracer.trace(module)
        self.calls = tracer.calls


def trace_all(network: nn.Module, *inputs: Tensor) -> tuple[dict[str, Forward], dict[str, Forward]]:
    """Return the forward passes of every module that is written as a class, by path: in evaluation, and in training.

    Modules that are never called have none. The network is not changed: a copy on the meta device is traced.
    """
    twin = copy.deepcopy(network).to("meta")
    found = []
    for training in (False, True):
        forwards: dict[str, Forward] = {}
        values = [value.detach().to("meta") for value in inputs]
        with torch.no_grad():
            outputs = _run(twin.train(training), values)
            _trace(twin, _arguments(twin, values, {}), "", forwards, outputs)
        found.append(forwards)
    return found[0], found[1]


def _run(network: nn.Module, values: list[Tensor]) -> Outputs:
    """Return the outputs of every module in one pass of the network."""
    outputs: Outputs = defaultdict(list)
    hooks = [
        module.register_forward_hook(lambda module, given, output: outputs[module].append(output))
        for module in network.modules()
    ]
    try:
        network(*values)
    except Exception as error:  # the user's code may do anything with a tensor without numbers
        raise UntraceableError(
            f"its forward pass depends on the values of tensors, which tracing does not have ({type(error).__name__}: "
            f"{error})"
        ) from error
    for hook in hooks:
        hook.remove()
    return outputs


def _trace(
    module: nn.Module, arguments: list[Argument], path: str, found: dict[str, Forward], outputs: Outputs
) -> None:
    if path in found or is_layer(module):
        return
    prefix = f"{path}." if path else ""
    if is_plain_sequence(module):
        value = arguments[0].value
        for name, child in module.named_children():
            _trace(child, _arguments(child, [value], {}), prefix + name, found, outputs)
            value = outputs[child][0]
        return
    try:
        found[path] = Forward(module, arguments, outputs)
    except UntraceableError:
        raise
    except Exception as error:  # the user's code may do anything with a recorded value
        raise UntraceableError(f"{_title(module, path)}: {type(error).__name__}: {error}") from error
    for name, given in found[path].calls.items():
        _trace(module.get_submodule(name), given, prefix + name, found, outputs)


def _title(module: nn.Module, path: str) -> str:
    return f"the forward pass of {type(module).__name__}" + (f" ({path})" if path else "")


def _arguments(
    module: nn.Module, args: Any, kwargs: Any, recorded: Callable[[Any], bool] = lambda value: _contains(value, Tensor)
) -> list[Argument]:
    signature = inspect.signature(module.forward)
    bound = signature.bind(*args, **kwargs)
    names = []
    for name in bound.arguments:
        starred = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{place}" for place in range(len(bound.arguments[name]))] if starred else [name]
    positional = [Argument(name, value, recorded(value)) for name, value in zip(names, bound.args, strict=False)]
    return positional + [Argument(name, value, recorded(value), True) for name, value in bound.kwargs.items()]


def _contains(value: Any, kind: type) -> bool:
    found: list[Any] = []
    map_aggregate(value, lambda leaf: found.append(leaf) if isinstance(leaf, kind) else None)
    return bool(found)


class _Proxy(fx.Proxy):
    """A recorded value that knows its length, unless it is a tensor, whose batch size is not part of a network."""

    def __len__(self) -> int:
        twin = self.node.meta["twin"]
        if isinstance(twin, Tensor):
            raise UntraceableError("it asks for the len() of a tensor; use x.shape[0] instead")
        return len(twin)


class _Tracer(fx.Tracer):
    """Records every call of a descendant as one step, and traces into modules made in the forward pass itself."""

    proxy_buffer_attributes = True

    def __init__(self, arguments: list[Argument], outputs: Outputs) -> None:
        super().__init__()
        self.calls: dict[str, list[Argument]] = {}
        self._arguments = arguments
        self._outputs = {module: iter(known) for module, known in outputs.items()}

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        args: list[Any] = [self.root]
        kwargs = {}
        for argument in self._arguments:
            value = argument.value
            if argument.recorded:
                value = self.create_proxy("placeholder", argument.name, (), {})
                value.node.meta["twin"] = argument.value
            if argument.by_keyword:
                kwargs[argument.name] = value
            else:
                args.append(value)

        def run(*args: Any) -> Any:
            return root_fn(*args, **kwargs)

        return run, args

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **more: Any) -> Any:
        proxy = super().create_proxy(kind, target, args, kwargs, *rest, **more)
        node = proxy.node
        given, named = map_aggregate((node.args, node.kwargs), self._twin)
        if kind == "call_function":
            node.meta["twin"] = target(*given, **named)
        elif kind == "call_method":
            node.meta["twin"] = getattr(given[0], target)(*given[1:], **named)
        return proxy

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return _Proxy(node, self)

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Tensor) and not isinstance(a, nn.Parameter):
            raise UntraceableError(
                f"{_title(self.root, '')} uses a tensor that is neither a parameter, nor a buffer, nor computed from "
                "the input"
            )
        return super().create_arg(a)

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if m not in (self.submodule_paths or {}) or m is self.root:
            return forward(*args, **kwargs)
        path = self.path_of_module(m)
        if not is_layer(m):
            arguments = _arguments(m, args, kwargs, lambda value: _contains(value, fx.Proxy))
            args, kwargs = tuple(argument.value for argument in arguments if argument.recorded), {}
            known = self.calls.setdefault(path, [self._with_twin(argument) for argument in arguments])
            if [argument.constant for argument in known] != [argument.constant for argument in arguments]:
                raise UntraceableError(f"{path} is called with different settings, which would need a class for each")
        proxy = self.create_proxy("call_module", path, args, kwargs)
        proxy.node.meta["twin"] = next(self._outputs[m])
        return proxy

    def to_bool(self, obj: fx.Proxy) -> bool:
        return bool(self._twin(obj))

    def iter(self, obj: Any) -> Iterator[Any]:
        return iter([obj[place] for place in range(len(self._twin(obj)))])

    def _with_twin(self, argument: Argument) -> Argument:
        value = map_aggregate(argument.value, self._twin) if argument.recorded else argument.value
        return Argument(argument.name, value, argument.recorded, argument.by_keyword)

    def _twin(self, value: Any) -> Any:
        node = value.node if isinstance(value, fx.Proxy) else value
        if not isinstance(node, fx.Node):
            return value
        if "twin" not in node.meta and node.op == "get_attr":
            owner, _, name = str(node.target).rpartition(".")
            module = self.root.get_submodule(owner)
            node.meta["twin"] = {**module._parameters, **module._buffers}[name]
        return node.meta["twin"]
