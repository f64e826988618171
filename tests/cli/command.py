"""The command as its user runs it, but in this process: to start another takes seconds of importing."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from firstlight import __main__ as program
from firstlight.cli import main
from firstlight.views.console.terminal import console, notices

SMALL = ["--skeleton", "channels=4,cells=1"]
CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
SILENT = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str
    code: int = 0


def firstlight(
    *arguments: str, folder: Path | None = None, stdin: str = "", code: int | None = 0, columns: int = 200
) -> Done:
    """What `python -m firstlight` prints when called in a folder; `code` is what it must return, None for anything."""
    output, errors = io.StringIO(), io.StringIO()
    streams = (contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors))
    argv = [str(program.__file__), *arguments]
    with (
        streams[0],
        streams[1],
        _in_folder(folder),
        patch.object(console, "_width", columns),
        patch.object(notices, "_width", columns),
        patch.dict(os.environ, COLUMNS=str(columns)),
        patch.object(sys, "argv", argv),
        patch.object(sys, "stdin", io.StringIO(stdin)),
    ):
        try:
            main()
            returned = 0
        except SystemExit as ended:
            returned = int(ended.code or 0)
    assert code in (None, returned), errors.getvalue() + output.getvalue()
    return Done(output.getvalue(), errors.getvalue(), returned)


@contextlib.contextmanager
def _in_folder(folder: Path | None) -> Iterator[None]:
    """There, with the modules that it holds; afterwards nobody knows of them."""
    known, here = set(sys.modules), os.getcwd()
    os.chdir(folder or here)
    try:
        with patch.object(sys, "path", sys.path[:]):
            yield
    finally:
        os.chdir(here)
        for name in set(sys.modules) - known:
            origin = getattr(sys.modules[name], "__file__", None)
            if folder and origin and Path(origin).is_relative_to(folder):
                del sys.modules[name]
