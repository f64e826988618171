"""`firstlight watch`: the page of a run while it is in progress."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators


def watch(
    directory: Path,
    /,
    *,
    port: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))] = 0,
    open_page: Annotated[bool, Parameter(name="--open")] = False,
) -> None:
    """Serve the report of a run to browsers on this machine, and keep it up to date until Ctrl-C.

    Start the run itself with another command, before or after this one: `firstlight search ... --out runs/mine`.

    For example:
    firstlight watch runs/mine --open

    Args:
        directory: The folder of a run, as given to --out; it need not exist yet.
        port: Port to serve the page on. Default: any free port.
        open_page: Open the page in the browser.
    """
    from firstlight.views.pages.watching import Watch

    with Watch(directory, port) as server:
        print(f"Watching {directory} at {server.url} (stop with Ctrl-C)", flush=True)
        if open_page:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped; the run continues.")
