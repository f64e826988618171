"""One page for each command, and a list of them."""

from __future__ import annotations

import inspect
import re
from typing import Any

from cyclopts import App
from tools.pages.markdown import block, code, origin, table

from firstlight.cli import app
from firstlight.cli.derive import EXAMPLES, shown_default

ORIGIN = origin("src/firstlight/cli")
INDEX = """# Commands

`firstlight COMMAND --help` prints the same in the terminal. With `--json`, commands print JSON
instead of text. The options of a command are those of the Python call of the same name.
"""
NOT_RUN = "<!-- checked, not run: other pages run such commands -->"


def commands() -> dict[str, App]:
    """Return all commands by their words; those inside another have two."""
    found: dict[str, App] = {}
    for name, entry in app.resolved_commands().items():
        if not name.startswith("-"):
            inner = {word: known for word, known in entry.resolved_commands().items() if not word.startswith("-")}
            found |= {f"{name} {word}": known for word, known in inner.items()} if inner else {name: entry}
    return found


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    return {f"{_file(words)}.md": page(words, entry) for words, entry in commands().items()} | {"README.md": index()}


def index() -> str:
    """Return the list of commands."""
    rows = [(f"[`{words}`]({_file(words)}.md)", _help(entry)[0]) for words, entry in commands().items()]
    return "\n".join([ORIGIN, INDEX, table(("command", "what it does"), rows)])


def page(words: str, entry: App) -> str:
    """Return the page of a command: what it does, examples, arguments, and its options by group."""
    paragraphs = _help(entry)
    examples = [text.removeprefix(EXAMPLES) for text in paragraphs if text.startswith(EXAMPLES)]
    sections: dict[str, list[Any]] = {"Arguments": []}
    for argument in entry.assemble_argument_collection(parse_docstring=True):
        keyword = argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY
        title = argument.parameter.group[0].name if keyword and argument.parameter.group else "Options"
        sections.setdefault(title if keyword else "Arguments", []).append(argument)
    parts = [
        ORIGIN,
        f"# firstlight {words}\n",
        *(f"{_words(text)}\n" for text in paragraphs if not text.startswith(EXAMPLES)),
        *([NOT_RUN, block("bash", "\n".join(examples))] if examples else []),
        *(part for title, known in sections.items() for part in _section(title, known)),
    ]
    return "\n".join(parts)


def _help(entry: App) -> list[str]:
    """Return the paragraphs of the help, without the arguments, which have their own tables."""
    text = inspect.cleandoc(entry.help).partition("\nArgs:\n")[0].strip()
    return [part if part.startswith(EXAMPLES) else " ".join(part.split()) for part in text.split("\n\n")]


def _section(title: str, known: list[Any]) -> list[str]:
    if not known:
        return []
    rows = [(_name(entry), _words(entry.parameter.help or ""), _default(entry)) for entry in known]
    return [f"## {title}\n", table(("", "meaning", "default"), rows)]


def _name(entry: Any) -> str:
    names = [name for name in entry.names if name.startswith("-") and not name.startswith("--no-")]
    return ", ".join(map(code, names)) if names else code(entry.field_info.name.upper())


def _default(entry: Any) -> str:
    if entry.required:
        return "required"
    default = None if entry.field_info.default is inspect.Parameter.empty else shown_default(entry.field_info.default)
    return "" if default is None else code(default)


def _words(text: str) -> str:
    """Return a help text in which nothing is taken for a sign of Markdown but code."""
    prose_and_code = text.split("`")
    prose_and_code[::2] = [re.sub(r"[<>*_\[\]|]", lambda match: f"\\{match[0]}", part) for part in prose_and_code[::2]]
    return "`".join(prose_and_code)


def _file(words: str) -> str:
    return words.replace(" ", "-")
