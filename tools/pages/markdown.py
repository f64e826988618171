"""The few pieces of Markdown that generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def origin(source: str) -> str:
    """What stands above a page that nobody should edit."""
    return f"<!-- Written by `make docs` from {source}; change it there. -->\n"


def block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    ruler = f"|{'---|' * len(head)}\n"
    first, *others = (f"| {' | '.join(cells)} |\n" for cells in (head, *rows))
    return "".join([first, ruler, *others])


def code(text: str) -> str:
    """In a cell of a table, where a bar would end it."""
    return f"`{text}`".replace("|", "\\|")


def value(default: object) -> str:
    """A setting as it is written on the command line."""
    return str(default).lower() if isinstance(default, bool) else str(default)


def settings(
    name: str, defaults: dict[str, object], choices: dict[str, tuple[str, ...]], meanings: dict[str, str]
) -> list[str]:
    """The section on what may be written behind a name; none where there is nothing to set."""
    if not defaults:
        return []
    asked = ":".join([name, *(f"{setting}={value(default)}" for setting, default in defaults.items())])
    rows = [
        (
            code(setting),
            meanings[setting],
            code(value(default)) if value(default) else "none",
            _allowed(choices.get(setting), default),
        )
        for setting, default in defaults.items()
    ]
    return [
        "## Settings\n",
        f"Settings follow the name. With all defaults: `{asked}`.\n",
        table(("setting", "meaning", "default", "allowed"), rows),
    ]


def _allowed(choices: tuple[str, ...] | None, default: object) -> str:
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    return {bool: "`true`, `false`", int: "whole numbers", float: "numbers", str: "text"}[type(default)]
