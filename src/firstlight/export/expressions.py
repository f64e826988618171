"""Python expressions that make modules, with a slot for each value that may differ between modules."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import torch

from firstlight.core.errors import UnsupportedError

WIDTH = 110  # of a line
INDENT = "    "
LONGEST_NUMBER = 8  # entries up to this length share a line


@dataclass(frozen=True, eq=False)
class Slot:
    """A value, its name, and its default."""

    name: str
    value: Any
    default: Any = ...


@dataclass(frozen=True)
class Argument:
    """An argument of a call; a `positional` one is written without its name."""

    name: str
    value: Slot
    positional: bool = False


@dataclass(frozen=True)
class Call:
    function: str
    arguments: list[Argument]


@dataclass(frozen=True)
class Children:
    """A container: `function` of modules in order, given as arguments, as a list, or by name."""

    function: str
    names: tuple[str, ...]
    modules: Sequence[Expression]
    listed: bool = False


@dataclass(frozen=True)
class Text:
    """Code in which every `MARK` stands for the next slot."""

    text: str
    values: tuple[Slot, ...] = ()


Expression: TypeAlias = Call | Children | Text
MARK = "\0"
Write: TypeAlias = Callable[[Slot], str]


def slots(expression: Expression) -> Iterator[Slot]:
    """Return the slots from left to right."""
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield argument.value
    elif isinstance(expression, Children):
        for module in expression.modules:
            yield from slots(module)
    else:
        yield from expression.values


def form(expression: Expression) -> Any:
    """Return a key that is equal for expressions that differ only in the values of their slots."""
    if isinstance(expression, Call):
        return (expression.function, tuple(argument.name for argument in expression.arguments))
    if isinstance(expression, Children):
        return (expression.function, expression.names, tuple(map(form, expression.modules)))
    return expression.text


def write(expression: Expression, slot: Write, indent: int, room: int = WIDTH) -> str:
    """Write an expression as code, broken into lines if it is too long; `slot` writes a slot."""
    if isinstance(expression, Text):
        filled = iter(expression.values)
        line = "".join(slot(next(filled)) if char == MARK else char for char in expression.text)
        return broken(line, indent, room)
    if isinstance(expression, Call):
        return _broken(expression.function, "(", _arguments(expression, slot), ")", indent, room)
    inner = [write(module, slot, indent + 1) for module in expression.modules]
    if expression.function == "nn.ModuleDict":
        entries = [f'"{name}": {text}' for name, text in zip(expression.names, inner, strict=True)]
        return _broken(expression.function, "({", entries, "})", indent, room)
    if expression.names != tuple(map(str, range(len(inner)))):
        entries = [f'("{name}", {text})' for name, text in zip(expression.names, inner, strict=True)]
        return _broken(expression.function, "(OrderedDict([", entries, "]))", indent, room)
    opening, closing = ("([", "])") if expression.listed else ("(", ")")
    return _broken(expression.function, opening, _repeated(inner), closing, indent, room)


def broken(line: str, indent: int, room: int = WIDTH) -> str:
    """Break a line that is too long at its outermost brackets."""
    if "\n" in line or len(line) + len(INDENT) * indent <= room:
        return line
    brackets = sorted(_brackets(line), key=lambda pair: pair[0] - pair[1])
    if not brackets:
        return line
    start, end = brackets[0]
    entries = _entries(line[start + 1 : end])
    inner = INDENT * (indent + 1)
    if max(map(len, entries)) <= LONGEST_NUMBER:
        lines = textwrap.wrap(", ".join(entries), room - len(inner))
    else:
        lines = [f"{broken(entry, indent + 1)}," for entry in entries]
    return f"{line[: start + 1]}\n" + "".join(f"{inner}{each}\n" for each in lines) + INDENT * indent + line[end:]


def _brackets(line: str) -> Iterator[tuple[int, int]]:
    """Return where the outermost brackets open and close."""
    depth, start, quoted = 0, 0, False
    for place, char in enumerate(line):
        quoted ^= char == '"'
        if quoted or char not in "([{)]}":
            continue
        if char in "([{":
            start = place if depth == 0 else start
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                yield start, place


def _entries(text: str) -> list[str]:
    """Split a text at commas outside brackets."""
    inside = [range(start, end) for start, end in _brackets(text)]
    found = [""]
    for place, char in enumerate(text):
        if char == "," and not any(place in each for each in inside):
            found.append("")
        else:
            found[-1] += char
    return [entry.strip() for entry in found if entry.strip()]


def _arguments(call: Call, slot: Write) -> list[str]:
    written = []
    for argument in call.arguments:
        text = slot(argument.value)
        if argument.value.default is ... or text != literal(argument.value.default):
            written.append(text if argument.positional else f"{argument.name}={text}")
    return written


def _repeated(texts: list[str]) -> list[str]:
    """Write the same module several times in a row only once."""
    entries = []
    for text, equal in groupby(texts):
        count = len(list(equal))
        entries += [text] * count if count < 3 else [f"*({text} for _ in range({count}))"]
    return entries


def _broken(function: str, opening: str, entries: list[str], closing: str, indent: int, room: int) -> str:
    line = f"{function}{opening}{', '.join(entries)}{closing}"
    if "\n" not in line and len(line) + len(INDENT) * indent <= room:
        return line
    inner = INDENT * (indent + 1)
    return f"{function}{opening}\n" + "".join(f"{inner}{entry},\n" for entry in entries) + INDENT * indent + closing


def literal(value: Any) -> str:
    """Write a value as Python code."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is ...:
        return "..."
    if value is None or type(value) in (bool, int, float):
        return repr(value)
    if isinstance(value, str):
        return '"' + repr(value)[1:-1].replace('"', '\\"') + '"'
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return str(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    raise UnsupportedError(f"the setting {value!r} cannot be written as code")
