"""One page for each command, and a list of them."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from tools.pages.markdown import block, code, origin, table
from typer.main import get_command

from firstlight.cli import app

ORIGIN = origin("src/firstlight/cli")
INDEX = """# Commands

`firstlight COMMAND --help` prints the same in the terminal. Every command that prints something prints JSON with
`--json`.
"""
NOT_RUN = "<!-- checked, not run: other pages run such commands -->"


def commands() -> dict[str, Any]:
    """All of them by their words: those of a group have two."""
    found: dict[str, Any] = {}
    for name, entry in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(entry, "commands", None)
        found |= {name: entry} if inner is None else {f"{name} {word}": command for word, command in inner.items()}
    return found


def pages() -> dict[str, str]:
    return {f"{_file(words)}.md": page(words, entry) for words, entry in commands().items()} | {"README.md": index()}


def index() -> str:
    rows = [(f"[`{words}`]({_file(words)}.md)", entry.help.split("\n")[0]) for words, entry in commands().items()]
    return "\n".join([ORIGIN, INDEX, table(("command", "what it does"), rows)])


def page(words: str, entry: Any) -> str:
    paragraphs = [" ".join(text.split()) for text in entry.help.split("\n\n")]
    examples = [text.removeprefix("Example: ") for text in paragraphs if text.startswith("Example: ")]
    arguments = [known for known in entry.params if known.param_type_name == "argument"]
    options = [known for known in entry.params if known.param_type_name == "option"]
    parts = [
        ORIGIN,
        f"# firstlight {words}\n",
        *(f"{_words(text)}\n" for text in paragraphs if not text.startswith("Example: ")),
        *([NOT_RUN, block("bash", "\n".join(examples))] if examples else []),
        *_section("Arguments", arguments),
        *_section("Options", options),
    ]
    return "\n".join(parts)


def _section(title: str, known: list[Any]) -> list[str]:
    if not known:
        return []
    rows = [(_name(entry), _words(textwrap.dedent(entry.help or "")), _default(entry)) for entry in known]
    return [f"## {title}\n", table(("", "meaning", "default"), rows)]


def _name(entry: Any) -> str:
    if entry.param_type_name == "argument":
        return code((entry.metavar or entry.name.upper()).strip("[]."))
    return ", ".join(code(option) for option in entry.opts)


def _default(entry: Any) -> str:
    if entry.required:
        return "must be given"
    if entry.default in (None, "", False) or callable(entry.default):
        return ""
    return code(str(entry.default))


def _words(text: str) -> str:
    """A help text, in which nothing is taken for a sign of Markdown but code."""
    prose_and_code = text.split("`")
    prose_and_code[::2] = [re.sub(r"[<>*_\[\]|]", lambda match: f"\\{match[0]}", part) for part in prose_and_code[::2]]
    return "`".join(prose_and_code)


def _file(words: str) -> str:
    return words.replace(" ", "-")
