"""`firstlight watch`: the page of a run while it goes on."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def watch(
    directory: Annotated[Path, typer.Argument(help="The folder of a run, as given to --out; it may not be there yet.")],
    port: Annotated[
        int, typer.Option(help="Where to serve the page; by default any port that is free.", min=0, max=65535)
    ] = 0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the run's report to browsers on this machine, and keep it up to date until Ctrl-C.

    The run is another command's, which need not know of it: `firstlight search ... --out runs/mine`.

    Example: firstlight watch runs/mine --open
    """
    from firstlight.views.pages.watching import Watch

    with Watch(directory, port) as server:
        typer.echo(f"Watching {directory} at {server.url} (Ctrl-C ends it)")
        if open_page:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("Ended; the run goes on by itself.")
