"""How option groups work: frozen dataclasses with documented fields, and calls that take them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

from firstlight.core.amounts import in_question
from firstlight.core.errors import SettingError, did_you_mean

G = TypeVar("G", bound="Group")
R = TypeVar("R")


class Group:
    """The base class of option groups: frozen dataclasses whose fields have docstrings."""

    title: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults."""
        usual = type(self)()
        given = {name: (getattr(self, name), getattr(usual, name)) for name in self.names()}
        # Types come first: tensors and arrays do not compare with other things as a whole.
        return {
            name: value for name, (value, other) in given.items() if type(value) is not type(other) or value != other
        }

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the fields."""
        return [field.name for field in dataclasses.fields(cast(Any, cls))]

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_at_least(self, least: int, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise SettingError(f"{in_question(name)}{value!r} is not a whole number of {least} or more.")


class Options:
    """The groups of one call, by their classes: `options[Limits]`."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._groups: dict[type[Group], Group] = {type(group): group for group in groups}

    def __getitem__(self, group: type[G]) -> G:
        return cast(G, self._groups[group])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields that differ from their defaults, by group, as settings files hold them."""
        return {
            keyword_of(kind): {name: plain(value) for name, value in given.items()}
            for kind, group in self._groups.items()
            if (given := group.to_dict())
        }


def plain(value: Any) -> Any:
    """Return an option as JSON and TOML can hold it: text, a number, or a switch."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(item, tuple) and len(item) == 2 for item in value):
        return ",".join(f"{name}={_joined(item, 'x')}" for name, item in value)
    return _joined(value, ",")


def _joined(value: Any, by: str) -> str:
    return by.join(map(str, value)) if isinstance(value, (tuple, list)) else str(getattr(value, "name", value))


def keyword_of(group: type[Group]) -> str:
    """Return the keyword by which a call takes a group: its name in lower case."""
    return group.__name__.lower()


def takes(*groups: type[Group]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make a call of a function of `Options`: it takes groups, and each of their fields, as keywords.

    The function gets the options as its first argument. Unknown keywords, and a field that is given twice with
    different values, are errors before any work starts.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        own = {parameter.name for parameter in parameters}

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> R:
            rest = {name: given.pop(name) for name in list(given) if name not in own}
            return function(read_options(function.__name__, groups, own, rest), *arguments, **given)

        keywords = [
            inspect.Parameter(
                keyword_of(group), inspect.Parameter.KEYWORD_ONLY, default=group(), annotation=group.__name__
            )
            for group in groups
        ]
        rest = inspect.Parameter("fields", inspect.Parameter.VAR_KEYWORD, annotation="Any")
        returns = inspect.signature(function).return_annotation
        call.__signature__ = inspect.Signature([*parameters, *keywords, rest], return_annotation=returns)  # type: ignore[attr-defined]
        call.groups = groups  # type: ignore[attr-defined]
        return call

    return decorate


def read_options(call: str, groups: Sequence[type[Group]], own: Iterable[str], given: Mapping[str, Any]) -> Options:
    """Read keywords of a call: groups, and fields of groups."""
    keywords = {keyword_of(group): group for group in groups}
    homes = {name: group for group in groups for name in group.names()}
    found = {group: given.get(keyword, group()) for keyword, group in keywords.items()}
    for keyword, group in keywords.items():
        if not isinstance(found[group], group):
            raise SettingError(f"{keyword} is {found[group]!r}; give a firstlight.{group.__name__}.")
    fields = {name: value for name, value in given.items() if name not in keywords}
    for name in fields:
        if name not in homes:
            allowed = sorted({*own, *keywords, *homes})
            hint = did_you_mean(name, allowed)
            raise SettingError(f"{call}() has no option {name!r}.{hint} It has: {', '.join(allowed)}.")
    for group in groups:
        mine = {name: value for name, value in fields.items() if homes[name] is group}
        twice = [name for name in mine if name in found[group].to_dict()]
        if twice:
            raise SettingError(f"{twice[0]} is given in {keyword_of(group)}= and as a keyword. Leave one out.")
        if mine:
            found[group] = dataclasses.replace(found[group], **mine)
    return Options(found.values())


def field_docs(group: type[Group]) -> dict[str, str]:
    """Return the docstring of each field of a group, on one line."""
    body = _class_bodies(group.__module__)[group.__name__]
    return {
        cast(ast.Name, field.target).id: " ".join(str(text.value.value).split())
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


@functools.cache
def _class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}
