"""Commands offer what the calls offer, under the same names, with the same help."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.cli.command import firstlight
from tools.pages.commands import commands

from firstlight.cli import COMMANDS
from firstlight.cli.derive import docs_of, flag_type, one_line_each
from firstlight.core.groups import field_docs

PYTHON_ONLY = {"callback", "loss"}
# What a command leaves out of its call, since it has no meaning there.
LEFT_OUT = {
    "score": {"by", "samples"},
    "reproduce": {
        *("labels", "batch_size", "num_batches", "repeats", "device", "store", "timeout", "max_worker_memory"),
    },
    "train": {"repeats", "store", "same_versions"},
    "fit": {"store", "same_versions"},
    "plot network": {"labels", "batch_size", "num_batches", "warmup", "repeats"},
}
DERIVED = {words: entry for words, entry in commands().items() if hasattr(entry.default_command, "call")}


def options_of(call: Any) -> dict[str, str]:
    """The help of each option of a call, by its name."""
    found: dict[str, str] = {}
    for group in call.groups:
        found |= field_docs(group)
    return found | {name: text for name, text in docs_of(call).items() if name not in ("callback",)}


def test_the_commands_that_make_a_call_are_derived_from_it() -> None:
    calls = {
        "compare",
        "correlate",
        "export",
        "fit",
        "predict",
        "rank",
        "reproduce",
        "score",
        "search",
        "train",
        "trust",
    }
    assert DERIVED.keys() == calls | {"data prepare", "plot network"}


@pytest.mark.parametrize("words", DERIVED)
def test_a_command_has_the_options_of_its_call_under_the_same_names(words: str) -> None:
    command: Any = DERIVED[words].default_command
    flags = set(inspect.signature(command).parameters) - command.extra
    assert flags == options_of(command.call).keys() - PYTHON_ONLY - LEFT_OUT.get(words, set())
    for argument in DERIVED[words].assemble_argument_collection(parse_docstring=True):
        name = argument.field_info.name
        keyword = argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY
        if keyword and name in flags and name != "proxies":
            assert f"--{name.replace('_', '-')}" in argument.names


@pytest.mark.parametrize("words", DERIVED)
def test_the_help_of_a_flag_is_that_of_the_option(words: str) -> None:
    texts = options_of(DERIVED[words].default_command.call)
    for argument in DERIVED[words].assemble_argument_collection(parse_docstring=True):
        if argument.field_info.name not in DERIVED[words].default_command.extra:
            assert argument.parameter.help == texts[argument.field_info.name]


@pytest.mark.parametrize("words", commands())
def test_every_command_and_every_flag_has_help(words: str) -> None:
    entry = commands()[words]
    *prose, examples = inspect.cleandoc(entry.help).partition("\n\nArgs:\n")[0].split("\n\n")
    assert all(text.endswith(".") for text in prose)
    assert not any("\n" in text for text in prose), "the terminal wraps lines"
    assert examples.startswith("For example:\n")
    assert f"\nfirstlight {words}" in examples
    for argument in entry.assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help, argument.name


@pytest.mark.parametrize("words", [words for words in commands() if words != "watch"])
def test_every_command_that_prints_something_prints_json(words: str) -> None:
    assert "--json" in {
        name
        for argument in commands()[words].assemble_argument_collection(parse_docstring=True)
        for name in argument.names
    }


@pytest.mark.parametrize("words", ["show", "data synthesize", "score"])
def test_switches_have_no_opposites_and_one_panel(words: str) -> None:
    shown = firstlight(*words.split(), "--help").stdout
    assert "--json" in shown
    assert "--no-json" not in shown
    assert "default: False" not in shown
    assert shown.count("─ Options ─") == 1
    assert "─ Parameters ─" not in shown


def test_every_command_is_listed() -> None:
    assert {words.split()[0] for words in commands()} == set(COMMANDS)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("str", str),
        ("int", int),
        ("bool", bool),
        ("float | None", float | None),
        ("int | None", int | None),
        ("str | float | None", str | None),
        ("int | str | Sequence[int]", str),
        ("str | Mapping[str, Any]", str),
        ("Any", str | None),
        ("str | os.PathLike[str] | None", str | None),
        ("Proxies | None", str | None),
        ("Callable[..., Any] | None", str | None),
    ],
)
def test_a_flag_is_read_as_what_its_annotation_allows(annotation: str, kind: Any) -> None:
    assert flag_type(annotation) == kind


def test_help_from_the_arguments_of_a_docstring() -> None:
    def call(first: int, *, second: str) -> None:
        """Do it.

        Args:
            first: One line.
            second: Two lines: the first,
                and the second.

        Returns:
            Nothing: at all.
        """

    assert docs_of(call) == {"first": "One line.", "second": "Two lines: the first, and the second."}
    assert docs_of(lambda: None) == {}


def test_paragraphs_are_one_line_each_but_examples_keep_theirs() -> None:
    text = "Do it.\n\nIn two\nlines.\n\nFor example:\nfirstlight a\nfirstlight b"
    assert one_line_each(text) == "Do it.\n\nIn two lines.\n\nFor example:\nfirstlight a\nfirstlight b"
