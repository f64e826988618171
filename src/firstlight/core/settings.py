"""Settings written behind a name, `dextr:variant=official` or `evolution:population=32`: keyword arguments as text."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from firstlight.core.errors import SettingError

Settings = tuple[tuple[str, Any], ...]


def settings_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments of a function, which are its settings."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def choices(setting: inspect.Parameter) -> tuple[str, ...]:
    """What a setting declared as `Literal` may be; nothing for others."""
    return tuple(choice for choice in get_args(setting.annotation) if isinstance(choice, str))


def read_settings(kind: str, name: str, known: Mapping[str, inspect.Parameter], pairs: Iterable[str]) -> Settings:
    """The settings that differ from their defaults, in the order of their names; `kind` is what the name names."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            allowed = ", ".join(map(_described, known.values())) or "none"
            raise SettingError(
                f"{pair!r} is not a setting of the {kind} {name!r}. Write name:setting=value; settings: {allowed}."
            )
        found[key] = _read(name, known[key], value)
    return tuple(sorted(item for item in found.items() if item[1] != known[item[0]].default))


def _described(setting: inspect.Parameter) -> str:
    allowed = choices(setting)
    return f"{setting.name} ({', '.join(allowed)})" if allowed else setting.name


def check_settings(name: str, settings: Settings, least: Mapping[str, int] | None = None) -> None:
    """Whole numbers are 1 or more unless said otherwise, and no number is infinite."""
    for key, value in settings:
        smallest = (least or {}).get(key, 1)
        if isinstance(value, int) and not isinstance(value, bool) and value < smallest:
            raise SettingError(f"{name}:{key} is {value}; it must be {smallest} or more.")
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(f"{name}:{key} is {value}; it must be a finite number.")


def write_settings(name: str, settings: Settings) -> str:
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
        raise SettingError(f"{name}:{parameter.name} is {text!r}; expected a {kind.__name__}.") from None
