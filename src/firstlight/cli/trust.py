"""`firstlight trust`: which proxy to use on your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.api.trust import trust as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable, say
from firstlight.options import AUTO


@derived(call, usual={"out": AUTO})
def trust(given: dict[str, Any]) -> None:
    """Find out which proxy to trust on your data: train a few random networks, and see which proxy predicted best.

    Run the same command again to resume: no network is trained twice. A smaller skeleton makes it faster.

    For example:
    firstlight trust nasbench201 --data digits --train 24 --epochs 3 --skeleton channels=4,cells=1
    firstlight trust nasbench201 --data folder:photos@32 --train 40 --epochs 5
    """
    as_json = given.pop("json", False)
    with resumable(None if given["out"] == AUTO else Path(given["out"])):
        from firstlight.views.console.progress import showing

        with showing() as callback:
            found = call(**given, callback=callback)
    if as_json:
        print_json(found.to_dict())
        return
    from firstlight.views.console.study import show_study
    from firstlight.views.pages.trust import advise

    say(f"{found.trained} networks trained now, {len(found.evaluations) - found.trained} reused.")
    show_study(found.study)
    for sentence in advise(found):
        say(sentence)
    say(f"\nReport, statistics and scores: {found.study.directory}")
