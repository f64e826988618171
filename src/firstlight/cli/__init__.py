"""The `firstlight` command. Each file is a command: it parses, calls the public function, and prints."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import warnings
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from firstlight._version import __version__
from firstlight.cli.derive import COMMAND, shown_default
from firstlight.cli.settings_file import apply_settings
from firstlight.core.errors import FirstlightError
from firstlight.core.registry import PluginWarning

USAGE, FAILURE, INTERRUPTED = 2, 1, 130

app = App(
    name="firstlight",
    help="Predict how good neural networks will be before they are trained, and find the best one in a search space.",
    version=__version__,
    help_format="plaintext",
    config=apply_settings,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=shown_default),
    group_arguments=COMMAND,
    group_parameters=COMMAND,
)
COMMANDS = (
    *(
        "algorithms",
        "compare",
        "correlate",
        "data",
        "device",
        "export",
        "fit",
        "plot",
        "predict",
        "proxies",
        "rank",
        "report",
    ),
    *("reproduce", "score", "search", "show", "spaces", "store", "table", "train", "trust", "watch"),
)
for _name in COMMANDS:
    app.command(f"firstlight.cli.{_name}:{_name}", name=_name)  # imported when it is used


def main() -> None:
    """Run the command. Errors that a user can fix are printed without a traceback, as JSON if that was asked for.

    SIGTERM, which schedulers send, does what Ctrl-C does.
    """
    from firstlight.execution.memory import keep_freed_memory

    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keep_freed_memory()
    if sys.path[0] != os.getcwd():  # as `python -m` does, so that your own modules can be imported
        sys.path.insert(0, os.getcwd())
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        app.resolved_commands()  # to list them with their summaries
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except FirstlightError as error:
        _fail(words, FAILURE, error.code, str(error), error.hint)
    except CycloptsError as error:
        _fail(words, USAGE, "usage", _plain(error), _usage(words))
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        message = f"{str(error.filename)[:60]!r}... is too long for the name of a file."
        _fail(words, FAILURE, "file-name", message, "")


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning as a user reads it; those of Firstlight need no place in the code."""
    where = "" if issubclass(category, PluginWarning) else f" ({category.__name__} at {filename}:{lineno})"
    print(f"Warning: {message}{where}", file=sys.stderr)


def _fail(words: list[str], status: int, code: str, message: str, hint: str) -> None:
    """End with an error: one JSON object on standard output, or red text on standard error."""
    if "--json" in words:
        print(json.dumps({"error": {"code": code, "message": message, "hint": hint}}))
    else:
        color = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
        print(f"{color[0]}Error: {message} [{code}]{color[1]}", file=sys.stderr)
        if code == "usage":
            print(hint, file=sys.stderr)
    sys.exit(status)


def _plain(error: CycloptsError) -> str:
    return " ".join(str(error).split())


def _usage(words: list[str]) -> str:
    known: Any = app
    path = ["firstlight"]
    for word in words:
        if word.startswith("-") or word not in known:
            break
        known = known[word]
        path.append(word)
    return f"See `{' '.join(path)} --help`."


__all__ = ["app", "main"]
