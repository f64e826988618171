"""`firstlight compare`: search methods side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.api.compare import compare as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable, say
from firstlight.options import AUTO


@derived(call, usual={"out": AUTO})
def compare(given: dict[str, Any]) -> None:
    """Compare search methods on a table of trained networks, or with real training: what they find, and at what cost.

    A query evaluates one network. Queries, epochs and seconds of training are counted in the same way for all methods.

    For example:
    firstlight compare nasbench201 --table nb201.parquet --queries 20,50,100 --seeds 10
    firstlight compare nasbench201 --data digits --epochs 1 --queries 8 --seeds 2 --skeleton channels=4,cells=1
    """
    as_json = given.pop("json", False)
    with resumable(None if given["out"] == AUTO else Path(given["out"])):
        from firstlight.views.console.progress import showing

        with showing() as callback:
            found = call(**given, callback=callback)
    if as_json:
        print_json(found.to_dict())
        return
    from firstlight.views.console.terminal import show_figures
    from firstlight.views.pages.comparison import cells, headers, notes

    show_figures(headers(found), [cells(found, row) for row in found.rows], "method", "after")
    for note in notes(found):
        say(note)
    say(f"\nReport, rows and all queries: {found.directory}")
