"""`firstlight report`: the page of a run."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.options import Json


def report(
    directory: Annotated[Path, typer.Argument(help="The folder of a run, as given to --out.")],
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write the run's report: one HTML page with figures and tables that opens without a network.

    A run that goes on is shown as far as it is; `firstlight watch` keeps the page up to date.

    Example: firstlight report runs/demo --open
    """
    from firstlight.views.pages.search import write_report

    path = write_report(directory)
    typer.echo(json.dumps({"report": str(path)}) if as_json else f"Report: {path}")
    if open_page:
        webbrowser.open(path.resolve().as_uri())
