"""A graph of torch.fx as lines of Python: a line for each step; a short step with one reader is written inside it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, fx

from firstlight.core.errors import UnsupportedError
from firstlight.export.expressions import MARK, Slot, Text, literal

# Most characters of a step that is written inside another one, or after `return`
LONGEST_INSIDE = 60
LONGEST_RETURNED = 1000
INFIX = {
    operator.pow: ("**", 7),
    operator.mul: ("*", 6),
    operator.truediv: ("/", 6),
    operator.floordiv: ("//", 6),
    operator.mod: ("%", 6),
    operator.matmul: ("@", 6),
    operator.add: ("+", 5),
    operator.sub: ("-", 5),
    operator.and_: ("&", 4),
    operator.xor: ("^", 3),
    operator.or_: ("|", 2),
    operator.lt: ("<", 1),
    operator.le: ("<=", 1),
    operator.gt: (">", 1),
    operator.ge: (">=", 1),
    operator.eq: ("==", 1),
    operator.ne: ("!=", 1),
}
IN_PLACE = {operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/="}
PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
ATOM, SIGN = 9, 8  # precedence of names and calls, and of unary operators


class _Code:
    """A piece of code, the slots in it, and its precedence."""

    def __init__(self, text: str, slots: tuple[Slot, ...] = (), strength: int = ATOM) -> None:
        self.text, self.slots, self.strength = text, slots, strength

    def within(self, strength: int) -> _Code:
        """Add parentheses if the precedence requires it."""
        return self if self.strength >= strength else _Code(f"({self.text})", self.slots)


def _joined(template: str, *parts: _Code, strength: int = ATOM) -> _Code:
    text = template.format(*(part.text for part in parts))
    return _Code(text, tuple(slot for part in parts for slot in part.slots), strength)


def _listed(parts: list[_Code], opening: str, closing: str) -> _Code:
    text = ", ".join(part.text for part in parts)
    return _Code(f"{opening}{text}{closing}", tuple(slot for part in parts for slot in part.slots))


def statements(graph: fx.Graph, child: Callable[[str], str]) -> tuple[list[str], list[Text]]:
    """Return the names of the arguments, and the lines; `child` writes a reference to a descendant or a weight.

    Steps keep their order, even inside others, so that random numbers and statistics stay the same.
    """
    writer = _Writer(child)
    nodes = [node for node in graph.nodes if node not in _idle(graph)]
    for node in nodes:
        writer.add(node)
    return [node.name for node in nodes if node.op == "placeholder"], writer.lines


def _idle(graph: fx.Graph) -> set[fx.Node]:
    """Return operations whose result is not used; modules stay, since they may update statistics."""
    idle: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        changes = node.target in IN_PLACE or (isinstance(node.target, str) and node.target.endswith("_"))
        free = node.op == "get_attr" or (node.op in ("call_function", "call_method") and not changes)
        if free and all(user in idle for user in node.users):
            idle.add(node)
    return idle


class _Writer:
    def __init__(self, child: Callable[[str], str]) -> None:
        self.lines: list[Text] = []
        self._child = child
        self._waiting: list[tuple[fx.Node, _Code]] = []  # in order, to be written inside their reader
        self._inside: dict[fx.Node, _Code] = {}
        self._names: dict[fx.Node, str] = {}
        self._parts: set[fx.Node] = set()

    def add(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            return
        if node.op == "get_attr":  # has no effect, and is written wherever it is read
            self._inside[node] = _Code(self._child(str(node.target)))
            return
        self._take_waiting(node)
        if node.op == "output":
            self._flush()
            self._line("return {}", self._bare(node.args[0]))
            return
        code = self._code(node)
        if self._only_names(node):
            self._inside[node] = code
        elif node.target in IN_PLACE:  # a statement, after which the changed name is the result
            self._flush()
            changed, by = (self._value(argument) for argument in node.args)
            self._line(f"{{}} {IN_PLACE[node.target]} {{}}", changed, by)
            self._inside[node] = changed
        elif len(code.text) <= _longest_inside(node):
            self._waiting.append((node, code))
        else:
            self._flush()
            self._assign(node, code)

    def _take_waiting(self, node: fx.Node) -> None:
        """Write waiting steps inside `node`, if they were computed last and in the order in which it reads them."""
        read = [argument for argument in _read(node) if any(argument is each for each, _ in self._waiting)]
        if not read:
            return
        if node.target in IN_PLACE or read != [each for each, _ in self._waiting[-len(read) :]]:
            self._flush()
            return
        self._inside |= dict(self._waiting[-len(read) :])
        del self._waiting[-len(read) :]

    def _flush(self) -> None:
        for node, code in self._waiting:
            self._assign(node, code)
        self._waiting.clear()

    def _assign(self, node: fx.Node, code: _Code) -> None:
        if node.users:
            self._names[node] = self._name(node)
            self._line(f"{self._names[node]} = {{}}", code)
        else:
            self._line("{}", code)

    def _name(self, node: fx.Node) -> str:
        """Name a part after what it is taken from."""
        base, place = node.args if node.target is operator.getitem else (None, None)
        if isinstance(base, fx.Node) and base in self._names and type(place) is int and place >= 0:
            name = f"{self._names[base]}_{place}"
            if name not in {*self._names.values(), *(each.name for each in node.graph.nodes)}:
                return name
        return node.name

    def _only_names(self, node: fx.Node) -> bool:
        """Whether it is a shape, or one of several values with a common name, which is written wherever it is read."""
        if node.target not in (getattr, operator.getitem):
            return False
        base: Any = node.args[0]
        named = base.op in ("placeholder", "get_attr") or base in self._names or base in self._parts
        if not named or (node.target is operator.getitem and isinstance(base.meta["twin"], Tensor)):
            return False
        self._parts.add(node)
        return True

    def _line(self, template: str, *parts: _Code) -> None:
        code = _joined(template, *parts)
        self.lines.append(Text(code.text, code.slots))

    # ---------------------------------------- expressions

    def _code(self, node: fx.Node) -> _Code:
        values = [self._value(argument) for argument in node.args]
        if node.op == "call_module":
            return self._call(self._child(str(node.target)), node.args, node.kwargs)
        if node.op == "call_method":
            called = _joined("{}", values[0].within(ATOM))
            arguments = self._call(f".{node.target}", node.args[1:], node.kwargs)
            return _Code(called.text + arguments.text, called.slots + arguments.slots)
        target: Any = node.target
        if target is getattr:
            return _joined(f"{{}}.{node.args[1]}", values[0].within(ATOM))
        if target is operator.getitem:
            return _joined("{}[{}]", values[0].within(ATOM), self._index(node.args[1]))
        if target in INFIX:
            sign, strength = INFIX[target]
            left = values[0].within(strength + (target is operator.pow))
            return _joined(f"{{}} {sign} {{}}", left, values[1].within(strength + 1), strength=strength)
        if target in PREFIX:
            return _joined(f"{PREFIX[target]}{{}}", values[0].within(SIGN), strength=SIGN)
        if target in IN_PLACE:
            return values[0]
        return self._call(function_name(target), node.args, _unusual(target, node.kwargs))

    def _call(self, function: str, args: Any, kwargs: Any) -> _Code:
        parts = [self._value(argument) for argument in args]
        parts += [_joined(f"{name}={{}}", self._value(value)) for name, value in kwargs.items()]
        return _listed(parts, f"{function}(", ")")

    def _index(self, index: Any) -> _Code:
        if isinstance(index, tuple) and index:
            parts = [self._between(part) for part in index]
            return _listed(parts, "", "," if len(parts) == 1 else "")
        return self._between(index)

    def _between(self, part: Any) -> _Code:
        """Write a part of an index, with colons for slices."""
        if not isinstance(part, slice):
            return self._value(part)
        parts = [_Code("") if each is None else self._value(each) for each in (part.start, part.stop, part.step)]
        return _joined("{}:{}" if part.step is None else "{}:{}:{}", *parts)

    def _bare(self, value: Any) -> _Code:
        """Write what follows `return`, where several values need no parentheses."""
        if isinstance(value, tuple) and len(value) > 1:
            return _listed([self._value(part) for part in value], "", "")
        return self._value(value)

    def _value(self, value: Any) -> _Code:
        if isinstance(value, fx.Node):
            return self._inside.get(value) or _Code(self._names.get(value, value.name))
        if type(value) is int:
            return _Code(MARK, (Slot("number", value),), ATOM if value >= 0 else SIGN)
        if isinstance(value, tuple):
            return _listed([self._value(part) for part in value], "(", ",)" if len(value) == 1 else ")")
        if isinstance(value, list):
            return _listed([self._value(part) for part in value], "[", "]")
        if isinstance(value, dict):
            return _listed([_joined(f"{key!r}: {{}}", self._value(part)) for key, part in value.items()], "{", "}")
        if isinstance(value, slice):
            return self._call("slice", (value.start, value.stop, value.step), {})
        return _Code(literal(value))


def _longest_inside(node: fx.Node) -> int:
    """Return the most characters of a step that is written inside its only reader; -1 if it has several or none."""
    if len(node.users) != 1:
        return -1
    (reader,) = node.users
    if reader.op == "output":
        return LONGEST_RETURNED
    # the inputs of a module with several are easier to follow by name
    return -1 if reader.op == node.op == "call_module" and len(set(_read(reader))) > 1 else LONGEST_INSIDE


def _read(node: fx.Node) -> list[fx.Node]:
    """Return what a step reads, in the order of the code."""
    found: list[fx.Node] = []

    def add(each: fx.Node) -> fx.Node:
        found.append(each)
        return each

    fx.node.map_arg((node.args, node.kwargs), add)
    return found


def _unusual(function: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out arguments at their default."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return dict(kwargs)
    return {
        name: value
        for name, value in kwargs.items()
        if name not in known or isinstance(value, fx.Node) or value is not known[name].default
    }


def function_name(function: Any) -> str:
    """Return the name of a function in the file: `torch.cat`, `F.pad`, `math.sqrt`."""
    name: str = torch.fx.node._get_qualified_name(function)
    short = name.replace("torch.nn.functional.", "F.").replace("torch._C._nn.", "F.")
    if short.split(".")[0] in ("torch", "F", "math") and "._" not in short:
        return short
    raise UnsupportedError(f"the function {name} is not part of PyTorch")
