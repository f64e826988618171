"""`firstlight report`: the page of a run."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.cli.printing import print_json, say


def report(
    directory: Path, /, *, open_page: Annotated[bool, Parameter(name="--open")] = False, json: bool = False
) -> None:
    """Write the report of a run: one HTML page with charts and tables that works offline.

    The page of an unfinished run shows the results so far; `firstlight watch` keeps it up to date.

    For example:
    firstlight report runs/demo --open

    Args:
        directory: The folder of a run, as given to --out.
        open_page: Open the page in the browser.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.views.pages.search import write_report

    path = write_report(directory)
    if json:
        print_json({"report": str(path)})
    else:
        say(f"Report: {path}")
    if open_page:
        webbrowser.open(path.resolve().as_uri())
