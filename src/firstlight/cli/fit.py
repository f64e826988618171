"""`firstlight fit`: from data to a trained network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.api.fit import fit as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable
from firstlight.options import AUTO


@derived(call, usual={"out": AUTO}, without=("store", "same_versions"))
def fit(given: dict[str, Any]) -> None:
    """Find, train and test a network for your images within limits, and say whether it is better than a plain one.

    Run the same command again to resume an interrupted fit: it ends with the same network.

    For example:
    firstlight fit digits --max-params 5k --time 3m
    firstlight fit folder:photos --max-params 300k --max-latency 5 --time 1h
    """
    as_json = given.pop("json", False)
    out = given["out"]
    with resumable(None if out == AUTO else Path(out)):
        from firstlight.views.console.progress import showing

        with showing() as callback:
            found = call(**given, callback=callback)
    if as_json:
        print_json(found.to_dict())
        return
    from firstlight.views.console.fit import show_fit

    show_fit(found)
