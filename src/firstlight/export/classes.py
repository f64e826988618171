"""From a network to the classes that it is made of: modules that differ in numbers only share one.

Modules are described from the inside out. Where the descriptions of two modules differ in numbers, these become the
arguments of their class; numbers that always go together become one.
"""

from __future__ import annotations

import base64
import inspect
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.errors import UnsupportedError
from firstlight.export.expressions import INDENT, Argument, Call, Children, Expression, Slot, Text, form, literal, write
from firstlight.export.expressions import slots as slots_of
from firstlight.export.layers import CONTAINERS, is_layer, layer_call
from firstlight.export.statements import statements
from firstlight.export.tracing import Forward

# Names for how wide something is: numbers of this kind that are always equal are one and the same
WIDTHS = {"channels", "in_channels", "out_channels", "num_features", "features", "in_features", "out_features"}
WIDTHS |= {"width", "embedding_dim", "normalized_shape", "groups", "size", "number"}
# What several of them together are called, if they have more than one name
TOGETHER = (
    ({"in_channels", "out_channels"}, "channels"),
    ({"in_features", "out_features"}, "features"),
    ({"channels"}, "channels"),
    ({"features"}, "features"),
    ({"out_channels"}, "out_channels"),
    ({"in_channels"}, "in_channels"),
    ({"out_features"}, "out_features"),
    ({"in_features"}, "in_features"),
    ({"num_features"}, "channels"),
    ({"normalized_shape"}, "features"),
    ({"embedding_dim"}, "width"),
)
MOST_POSITIONAL = 3  # arguments; more of them are easier to tell apart by their names
MOST_NUMBERS = 64  # of a constant that is written out
SMALL_TYPES = (torch.uint8, torch.int16, torch.int32)


@dataclass(frozen=True)
class Body:
    """A forward pass: the names of its arguments, and its lines."""

    arguments: tuple[str, ...]
    lines: tuple[Text, ...]

    @property
    def form(self) -> Any:
        return self.arguments, tuple(map(form, self.lines))


@dataclass
class Described:
    """One module: what its constructor does, attribute by attribute, and its forward passes if it is called."""

    module: nn.Module
    attributes: list[tuple[str, Expression]]
    evaluation: Body | None = None
    training: Body | None = None

    @property
    def bodies(self) -> list[Body]:
        """One, if training and evaluation are the same."""
        found = [body for body in (self.evaluation, self.training) if body is not None]
        same = len(found) == 2 and [*found[0].lines] == [*found[1].lines]
        return found[:1] if same or (len(found) == 2 and _written(found[0]) == _written(found[1])) else found

    @property
    def slots(self) -> list[Slot]:
        made = [slot for _, expression in self.attributes for slot in slots_of(expression)]
        return made + [slot for body in self.bodies for line in body.lines for slot in line.values]

    @property
    def form(self) -> Any:
        return tuple((name, form(expression)) for name, expression in self.attributes)


def _written(body: Body) -> list[str]:
    return [write(line, lambda slot: literal(slot.value), 0) for line in body.lines]


@dataclass
class Parameter:
    """An argument of a class: its value for each member, and the slots of a member where it stands, by their place."""

    name: str
    values: list[Any]
    default: Any
    places: list[int]


class ClassOfModules:
    """Modules of the same form, written as one class."""

    def __init__(self, name: str, members: list[Described]) -> None:
        self.name = name
        self.pattern = next((member for member in members if member.bodies), members[0])
        made = len([slot for _, expression in self.pattern.attributes for slot in slots_of(expression)])
        slots = self.pattern.slots
        full = [member for member in members if len(member.slots) == len(slots)]
        self._parameters = _parameters([member.slots for member in full], [member.module for member in full])
        # members that are never called lack the slots of a forward pass
        self._stored = {
            parameter.name for parameter in self._parameters if any(place >= made for place in parameter.places)
        }

    def call(self, member: Described) -> Call:
        """How a member is made."""
        slots = member.slots
        arguments = []
        for parameter in self._parameters:
            place = parameter.places[0]
            value = slots[place].value if place < len(slots) else parameter.values[0]
            name = re.sub(r"\d+$", "", parameter.name)
            positional = name in WIDTHS or name == "kernel_size"
            arguments.append(Argument(parameter.name, Slot(name, value, parameter.default), positional))
        if sum(argument.positional for argument in arguments) > MOST_POSITIONAL:
            arguments = [replace(argument, positional=False) for argument in arguments]
        arguments.sort(key=lambda argument: (argument.value.default is not ..., not argument.positional))
        return Call(self.name, arguments)

    def source(self) -> str:
        module, member = self.pattern.module, self.pattern
        named = {member.slots[place]: p.name for p in self._parameters for place in p.places}

        def in_constructor(slot: Slot) -> str:
            return named.get(slot) or literal(slot.value)

        def in_forward(slot: Slot) -> str:
            return f"self.{named[slot]}" if slot in named else literal(slot.value)

        lines = [f"class {self.name}({_base(module)}):"]
        told = vars(type(module)).get("__doc__")
        if told:
            lines += [*_docstring(told), ""]
        arguments = self.call(member).arguments
        names = [argument.name for argument in arguments]
        lines.append(f"{INDENT}def __init__({', '.join(['self', *map(_declared, arguments)])}):")
        inherited = isinstance(module, (nn.Sequential, nn.ModuleList))
        if not inherited:
            lines.append(f"{INDENT * 2}super().__init__()")
        for name, expression in member.attributes:
            lines.append(INDENT * 2 + name + write(expression, in_constructor, 2, 110 - len(name)))
        lines += [f"{INDENT * 2}self.{name} = {name}" for name in names if name in self._stored]
        return "\n".join(lines + self._forward(in_forward)) + "\n"

    def _forward(self, slot: Any) -> list[str]:
        bodies = self.pattern.bodies
        if not bodies:
            return []
        lines = ["", f"{INDENT}def forward({', '.join(['self', *bodies[0].arguments])}):"]
        if len(bodies) == 1:
            return lines + [INDENT * 2 + write(line, slot, 2) for line in bodies[0].lines]
        evaluation, training = bodies
        if evaluation.arguments != training.arguments:
            raise UnsupportedError(f"{self.name} takes other inputs in training than in evaluation")
        lines.append(f"{INDENT * 2}if self.training:")
        lines += [INDENT * 3 + write(line, slot, 3) for line in training.lines]
        return lines + [INDENT * 2 + write(line, slot, 2) for line in evaluation.lines]


def _declared(argument: Argument) -> str:
    usual = argument.value.default
    return argument.name if usual is ... else f"{argument.name}={literal(usual)}"


def _base(module: nn.Module) -> str:
    bases = ((nn.Sequential, "nn.Sequential"), (nn.ModuleList, "nn.ModuleList"))
    return next((name for kind, name in bases if isinstance(module, kind)), "nn.Module")


def _docstring(told: str) -> list[str]:
    summary = inspect.cleandoc(told).split("\n\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    first, *rest = summary.splitlines()
    if not rest:
        return [f'{INDENT}"""{first}"""']
    return [f'{INDENT}"""{first}', *(INDENT + line for line in rest), f'{INDENT}"""']


def _parameters(members: list[list[Slot]], modules: list[nn.Module]) -> list[Parameter]:
    """The slots that are not the same for all members; several that always go together are one."""
    columns: dict[Any, list[int]] = {}
    for place, column in enumerate(zip(*members, strict=True)):
        values = [slot.value for slot in column]
        if any(literal(value) != literal(values[0]) for value in values):
            base = re.sub(r"\d+$", "", column[0].name)
            kind = "width" if base in WIDTHS else base
            columns.setdefault((kind, tuple(map(literal, values))), []).append(place)
    found: list[Parameter] = []
    for places in columns.values():
        values = [slots[places[0]].value for slots in members]
        name = _common_name([members[0][place].name for place in places], values, modules)
        taken = {parameter.name for parameter in found}
        number = 2
        unique = name
        while unique in taken:
            unique, number = f"{name}{number}", number + 1
        usual = {literal(members[0][place].default) for place in places}
        found.append(Parameter(unique, values, members[0][places[0]].default if len(usual) == 1 else ..., places))
    return found


def _common_name(names: list[str], values: list[Any], modules: list[nn.Module]) -> str:
    plain = {re.sub(r"\d+$", "", name) for name in names} - {"number", "size"}
    if len(plain) == 1 and len(set(names)) == 1:
        return names[0]
    for some, together in TOGETHER:
        if some <= plain:
            return together
    if plain:
        return min(plain)
    # a number in a forward pass: perhaps the module has a name for it
    for name in vars(modules[0]):
        own = [vars(module).get(name) for module in modules]
        if name.isidentifier() and not name.startswith("_") and type(own[0]) is int and own == values:
            return name
    return "number"


class Classes:
    """All classes of a network, inner ones first, and how the network is made of them."""

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
        """Classes of the same name are numbered in the order in which the network has them."""
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
                        raise UnsupportedError(f"the module {name!r} has no name that Python can write")
        for name, weight in module._parameters.items():
            if weight is not None:
                frozen = "" if weight.requires_grad else ", requires_grad=False"
                found.append((f"self.{name} = ", _wrapped("nn.Parameter(", _empty(weight), f"{frozen})")))
        for name, buffer in module._buffers.items():
            if buffer is not None:
                kept = name not in module._non_persistent_buffers_set
                made = _empty(buffer) if kept else Text(_constant(buffer))
                ending = ")" if kept else ", persistent=False)"
                found.append(("", _wrapped(f'self.register_buffer("{name}", ', made, ending)))
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
    """Modules of the same class and form; those that are never called join others of their kind."""
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
    """Parts that PyTorch's own layers make for themselves."""
    return type(module).__name__ == "NonDynamicallyQuantizableLinear"


def _height(module: nn.Module) -> int:
    """How many classes are nested in it."""
    return 1 + max(
        (_height(inner) for inner in module.modules() if inner is not module and _needs_class(inner)), default=0
    )


def reached(module: nn.Module, path: str) -> str:
    """How the code of a class reaches a descendant or a weight: `self.edges["0-1"]`, `self.cells[2].norm`."""
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


def _wrapped(opening: str, inner: Text, closing: str) -> Text:
    return Text(opening + inner.text + closing, inner.values)


def _empty(tensor: Tensor) -> Text:
    """One of this shape, to be filled by the weights."""
    sizes = tuple(Slot("size", size) for size in tensor.shape)
    kind = "" if tensor.dtype == torch.float32 else f", dtype={tensor.dtype}"
    return Text(f"torch.zeros({', '.join(chr(0) for _ in sizes) or '()'}{kind})", sizes)


def _constant(tensor: Tensor) -> str:
    """With its numbers, which the weights do not have; many of them are packed."""
    kind = "" if tensor.dtype in (torch.float32, torch.int64) else f", dtype={tensor.dtype}"
    if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
        return f"torch.full({tuple(tensor.shape)}, {literal(tensor.flatten()[0].item())}{kind})"
    if tensor.numel() <= MOST_NUMBERS:
        return f"torch.tensor({literal(tensor.tolist())}{kind})"
    small = next((each for each in SMALL_TYPES if torch.equal(tensor.to(each).to(tensor.dtype), tensor)), tensor.dtype)
    numbers = bytes(tensor.detach().cpu().to(small).contiguous().view(torch.uint8).flatten().tolist())
    text = base64.b64encode(zlib.compress(numbers, 9)).decode()
    lines = "".join(f'\n{INDENT * 3}"{text[start : start + 96]}"' for start in range(0, len(text), 96))
    return f"unpacked({tuple(tensor.shape)}, {small},{lines}\n{INDENT * 2}).to({tensor.dtype})"
