"""The classes of a network; modules that differ only in numbers share one.

Modules are described from the inside out, so that a class is known before the modules that use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.export.expressions import Call, Children, Expression, Text, literal, write
from firstlight.export.layers import CONTAINERS, is_layer, layer_call
from firstlight.export.shared_class import Body, ClassOfModules, Described
from firstlight.export.statements import statements
from firstlight.export.tensors import constant, empty, wrapped
from firstlight.export.tracing import Forward


class Classes:
    """All classes of a network, inner ones first, and the expression that builds the network from them."""

    def __init__(self, network: nn.Module, evaluation: dict[str, Forward], training: dict[str, Forward]) -> None:
        self._forwards = evaluation, training
        self._calls: dict[nn.Module, Call] = {}
        self._classes: list[ClassOfModules] = []
        own = [(path, module) for path, module in network.named_modules() if _needs_class(module)]
        heights = {module: _height(module) for _, module in own}
        for height in sorted(set(heights.values())):
            level = [self._describe(path, module) for path, module in own if heights[module] == height]
            for members in _grouped(level):
                self._add(members)
        texts = [made.source() for made in self._classes]
        texts.append(write(self._expression(network), lambda slot: literal(slot.value), 1))
        *self.classes, self.network = self._renamed(texts, [self._calls[module].function for _, module in own])

    def _renamed(self, texts: list[str], names: list[str]) -> list[str]:
        """Number classes of the same name in the order of the network."""
        counts: Counter[str] = Counter()
        for name in dict.fromkeys(names):
            plain = name.partition("\1")[0]
            counts[plain] += 1
            final = plain if counts[plain] == 1 else f"{plain}{counts[plain]}"
            texts = [text.replace(name, final) for text in texts]
        return texts

    def _add(self, members: list[Described]) -> None:
        name = type(members[0].module).__name__.lstrip("_")
        made = ClassOfModules(f"{name}\1{len(self._classes)}\1", members)
        self._classes.append(made)
        self._calls |= {member.module: made.call(member) for member in members}

    def _describe(self, path: str, module: nn.Module) -> Described:
        bodies = [self._body(forwards[path], module) if path in forwards else None for forwards in self._forwards]
        return Described(module, self._attributes(module), *bodies)

    def _body(self, forward: Forward, module: nn.Module) -> Body:
        arguments, lines = statements(forward.graph, lambda path: reached(module, path))
        return Body(tuple(arguments), tuple(lines))

    def _attributes(self, module: nn.Module) -> list[tuple[str, Expression]]:
        found: list[tuple[str, Expression]] = []
        if isinstance(module, (nn.Sequential, nn.ModuleList)):
            found.append(("", self._children("super().__init__", module)))
        else:
            for name, child in module._modules.items():
                if child is not None:
                    target = f"self.{name} = " if name.isidentifier() else ""
                    found.append((target, self._expression(child)))
                    if not target:
                        raise UnsupportedError(f"the module {name!r} has a name that is not a Python identifier")
        for name, weight in module._parameters.items():
            if weight is not None:
                frozen = "" if weight.requires_grad else ", requires_grad=False"
                found.append((f"self.{name} = ", wrapped("nn.Parameter(", empty(weight), f"{frozen})")))
        for name, buffer in module._buffers.items():
            if buffer is not None:
                kept = name not in module._non_persistent_buffers_set
                made = empty(buffer) if kept else Text(constant(buffer))
                ending = ")" if kept else ", persistent=False)"
                found.append(("", wrapped(f'self.register_buffer("{name}", ', made, ending)))
        return found

    def _expression(self, module: nn.Module) -> Expression:
        if module in self._calls:
            return self._calls[module]
        if is_layer(module):
            return layer_call(module)
        return self._children(f"nn.{next(kind for kind in CONTAINERS if isinstance(module, kind)).__name__}", module)

    def _children(self, function: str, module: nn.Module) -> Children:
        children = {name: child for name, child in module._modules.items() if child is not None}
        inner = [self._expression(child) for child in children.values()]
        return Children(function, tuple(children), inner, isinstance(module, nn.ModuleList))


def _grouped(level: Iterable[Described]) -> list[list[Described]]:
    """Group modules of the same class and form; those that are never called join others of their class."""
    called: dict[Any, list[Described]] = {}
    uncalled: list[Described] = []
    for described in level:
        if described.bodies:
            bodies = tuple(body.form for body in described.bodies)
            called.setdefault((type(described.module), described.form, bodies), []).append(described)
        else:
            uncalled.append(described)
    for described in uncalled:
        key = (type(described.module), described.form)
        like = next((known for known in called if known[:2] == key), (*key, ()))
        called.setdefault(like, []).append(described)
    return list(called.values())


def _needs_class(module: nn.Module) -> bool:
    plain = type(module) in CONTAINERS and not (module._parameters or module._buffers)
    return not (is_layer(module) or plain) and not _is_inside_layer(module)


def _is_inside_layer(module: nn.Module) -> bool:
    """Whether a module is a part that a layer of PyTorch makes for itself."""
    return type(module).__name__ == "NonDynamicallyQuantizableLinear"


def _height(module: nn.Module) -> int:
    """Return how many classes are nested in it."""
    return 1 + max(
        (_height(inner) for inner in module.modules() if inner is not module and _needs_class(inner)), default=0
    )


def reached(module: nn.Module, path: str) -> str:
    """Write how a class refers to a descendant or a weight: `self.edges["0-1"]`, `self.cells[2].norm`."""
    code, owner = "self", module
    for name in path.split("."):
        if isinstance(owner, (nn.Sequential, nn.ModuleList)) and name.isdigit():
            code += f"[{name}]"
        elif isinstance(owner, nn.ModuleDict):
            code += f'["{name}"]'
        else:
            code += f".{name}"
        owner = owner._modules.get(name) or nn.Module()
    return code
