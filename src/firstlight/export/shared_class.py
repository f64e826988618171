"""One class for several modules of the same form; the numbers in which they differ become its arguments.

Numbers that are always equal become one argument.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.export.expressions import INDENT, Argument, Call, Expression, Slot, Text, form, literal, write
from firstlight.export.expressions import slots as slots_of

# Names for widths: of these, numbers that are always equal are one argument
WIDTHS = {"channels", "in_channels", "out_channels", "num_features", "features", "in_features", "out_features"}
WIDTHS |= {"width", "embedding_dim", "normalized_shape", "groups", "size", "number"}
# What such an argument is called if the numbers have different names
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
MOST_POSITIONAL = 3  # arguments; more are easier to read by name


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
    """One module: the attributes that its constructor sets, and its forward passes if it is called."""

    module: nn.Module
    attributes: list[tuple[str, Expression]]
    evaluation: Body | None = None
    training: Body | None = None

    @property
    def bodies(self) -> list[Body]:
        """The forward passes; one if training and evaluation are the same."""
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
    """An argument of a class: its value for each member, and the positions of the slots where it stands."""

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
        # members that are never called have no slots of a forward pass
        self._stored = {
            parameter.name for parameter in self._parameters if any(place >= made for place in parameter.places)
        }

    def call(self, member: Described) -> Call:
        """Return the call that makes a member."""
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
        text = vars(type(module)).get("__doc__")
        if text:
            lines += [*_docstring(text), ""]
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
            raise UnsupportedError(f"{self.name} takes different inputs in training and in evaluation")
        lines.append(f"{INDENT * 2}if self.training:")
        lines += [INDENT * 3 + write(line, slot, 3) for line in training.lines]
        return lines + [INDENT * 2 + write(line, slot, 2) for line in evaluation.lines]


def _declared(argument: Argument) -> str:
    usual = argument.value.default
    return argument.name if usual is ... else f"{argument.name}={literal(usual)}"


def _base(module: nn.Module) -> str:
    bases = ((nn.Sequential, "nn.Sequential"), (nn.ModuleList, "nn.ModuleList"))
    return next((name for kind, name in bases if isinstance(module, kind)), "nn.Module")


def _docstring(text: str) -> list[str]:
    summary = inspect.cleandoc(text).split("\n\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    first, *rest = summary.splitlines()
    if not rest:
        return [f'{INDENT}"""{first}"""']
    return [f'{INDENT}"""{first}', *(INDENT + line for line in rest), f'{INDENT}"""']


def _parameters(members: list[list[Slot]], modules: list[nn.Module]) -> list[Parameter]:
    """Return the slots that differ between members; those that are always equal are one."""
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
    # a number in a forward pass; the module may have a name for it
    for name in vars(modules[0]):
        own = [vars(module).get(name) for module in modules]
        if name.isidentifier() and not name.startswith("_") and type(own[0]) is int and own == values:
            return name
    return "number"
