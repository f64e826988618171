"""Settings behind a name, `dextr:variant=official` or `evolution:population=32`: keyword arguments written as text."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin

from firstlight.core.errors import SettingError, did_you_mean

Settings = tuple[tuple[str, Any], ...]
T = TypeVar("T")
# What a setting is read as, in error messages.
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
# The sections of a docstring in Google style.
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples|Note):\s*$", re.MULTILINE)


@dataclass(frozen=True)
class AtLeast:
    """The smallest value of a whole number, where that is not 1: `batches: Annotated[int, AtLeast(2)] = 2`."""

    least: int


def settings_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the settings of a function, which are its keyword-only arguments, by name."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def check_function(kind: str, function: Callable[..., Any], argument: str) -> None:
    """Check that a function takes one argument, and besides only keyword-only settings with defaults.

    Args:
        kind: What the function becomes, for error messages, such as "proxy".
        function: The function.
        argument: What it takes, such as "a probe".

    Raises:
        SettingError: If it takes anything else.
    """
    parameters = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_it = bool(parameters) and parameters[0].kind in positional
    wrong = [
        parameter.name
        for parameter in parameters[takes_it:]
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY or parameter.default is inspect.Parameter.empty
    ]
    if not takes_it or wrong:
        found = f"{wrong[0]!r} is not such a setting" if wrong else f"it does not take {argument}"
        raise SettingError(
            f"The {kind} {function.__name__!r} must take {argument} and keyword-only settings with defaults: {found}. "
            f"Write def {function.__name__}({argument.split()[-1]}, *, setting=1)."
        )


def choices(setting: inspect.Parameter) -> tuple[str, ...]:
    """Return the values that a setting declared as `Literal` may have; none for other settings."""
    declared = setting.annotation
    if get_origin(declared) is Annotated:
        declared = get_args(declared)[0]
    return tuple(choice for choice in get_args(declared) if isinstance(choice, str))


def marked(setting: inspect.Parameter, mark: type[T]) -> T | None:
    """Return what `Annotated` says of a setting: the first mark of this type; None if there is none."""
    declared = get_args(setting.annotation)[1:] if get_origin(setting.annotation) is Annotated else ()
    return next((entry for entry in declared if isinstance(entry, mark)), None)


def description(function: Callable[..., Any]) -> str:
    """Return the docstring of a function without its sections, such as `Args:`."""
    document = inspect.getdoc(function) or ""
    section = _SECTION.search(document)
    return document[: section.start()].rstrip() if section else document


def summary(function: Callable[..., Any]) -> str:
    """Return the first line of a function's docstring."""
    return description(function).split("\n", 1)[0]


def setting_help(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the `Args:` section of a docstring says of each setting, in the order of the signature.

    A setting that the docstring does not mention has the text "".

    >>> def climb(problem, *, neighbors: int = 4):
    ...     '''Climb.
    ...
    ...     Args:
    ...         neighbors: Number of networks around each one.
    ...     '''
    >>> setting_help(climb)
    {'neighbors': 'Number of networks around each one.'}
    """
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", _arguments(function)):
        name, colon, text = entry.partition(":")
        if colon:
            found[name.strip()] = " ".join(text.split())
    return {name: found.get(name, "") for name in settings_of(function)}


def _arguments(function: Callable[..., Any]) -> str:
    """Return the lines of the `Args:` section, without their common indentation."""
    document = inspect.getdoc(function) or ""
    sections = {match[1]: match.end() for match in _SECTION.finditer(document)}
    if "Args" not in sections:
        return ""
    rest = document[sections["Args"] :]
    # the section ends where a line is not indented
    end = re.search(r"\n(?=[^\s])", rest)
    return textwrap.dedent(rest[: end.start()] if end else rest).strip("\n")


def read_settings(kind: str, name: str, known: Mapping[str, inspect.Parameter], pairs: Iterable[str]) -> Settings:
    """Read settings written as `setting=value`.

    Args:
        kind: What the name is the name of, for error messages, such as "proxy".
        name: The name that the settings follow.
        known: The settings that there are.
        pairs: The texts.

    Returns:
        The settings that differ from their defaults, in the order of their names.

    Raises:
        SettingError: If there is no such setting, or if a value is not of its type.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            allowed = ", ".join(map(_described, known.values())) or "none"
            raise SettingError(
                f"{pair!r} is not a setting of the {kind} {name!r}.{did_you_mean(key, known)} "
                f"Write name:setting=value; settings: {allowed}."
            )
        found[key] = _read(name, known[key], value)
    return tuple(sorted(item for item in found.items() if item[1] != known[item[0]].default))


def _described(setting: inspect.Parameter) -> str:
    allowed = choices(setting)
    return f"{setting.name} ({', '.join(allowed)})" if allowed else setting.name


def check_settings(name: str, settings: Settings, least: Mapping[str, int] | None = None) -> None:
    """Check that numbers are finite, and that whole numbers are not too small.

    Args:
        name: The name that the settings follow.
        settings: The settings.
        least: The smallest values of settings for which that is not 1.

    Raises:
        SettingError: If a number is infinite or too small.
    """
    for key, value in settings:
        smallest = (least or {}).get(key, 1)
        if isinstance(value, int) and not isinstance(value, bool) and value < smallest:
            raise SettingError(f"{name}:{key} is {value}; it must be {smallest} or more.")
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(f"{name}:{key} is {value}; it must be a finite number.")


def smallest_values(known: Mapping[str, inspect.Parameter]) -> dict[str, int]:
    """Return the smallest values that settings declare by `AtLeast`."""
    return {name: mark.least for name, setting in known.items() if (mark := marked(setting, AtLeast))}


def write_settings(name: str, settings: Settings) -> str:
    """Return the text form: `name:setting=value:setting=value`."""
    return ":".join([name, *(f"{key}={value}" for key, value in settings)])


def _read(name: str, parameter: inspect.Parameter, text: str) -> Any:
    allowed = choices(parameter)
    if allowed:
        if text not in allowed:
            raise SettingError(f"{name}:{parameter.name} is {text!r}; allowed: {', '.join(allowed)}.")
        return text
    kind = type(parameter.default)
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return {int: int, float: float, str: str}[kind](text)
    except (KeyError, ValueError):
        expected = _KINDS.get(kind, f"nothing but its default, {parameter.default!r}")
        raise SettingError(f"{name}:{parameter.name} is {text!r}; expected {expected}.") from None
