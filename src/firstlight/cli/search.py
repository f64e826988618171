"""`firstlight search`: the best network in a space within limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.search import search as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable
from firstlight.cli.settings_file import settings_flag
from firstlight.options import AUTO

if TYPE_CHECKING:
    from firstlight.search.result import SearchResult


@derived(call, usual={"out": AUTO}, more=(settings_flag,))
def search(given: dict[str, Any]) -> None:
    """Find the best network in a space within limits, without training, or guided by a few short training runs.

    Run the same command again to resume an interrupted search: nothing is scored twice.

    For example:
    firstlight search nasbench201 --samples 500 --max-params 1.0M
    firstlight search nasbench201 --proxy 'log_rank(dextr,params)'
    firstlight search mobilenetv2 --algorithm evolution-budget --max-macs 450M
    firstlight search nasbench201 --algorithm pareto --objectives macs,latency
    firstlight search nasbench201 --algorithm hnas:pool=100 --data digits@16
    firstlight search --settings plainnet-cifar --proxy zico --samples 2000
    """
    given.pop("settings", None)
    as_json = given.pop("json", False)
    out = given["out"]
    with resumable(None if out == AUTO else Path(out)):
        from firstlight.views.console.progress import showing

        try:
            with showing() as callback:
                result = call(**given, callback=callback)
        except KeyboardInterrupt as interrupted:
            if (so_far := getattr(interrupted, "result", None)) is not None:
                _show(so_far, as_json=as_json)
            raise
    _show(result, as_json=as_json)


def _show(result: SearchResult, *, as_json: bool) -> None:
    from firstlight.views.console.result import show_result

    if as_json:
        print_json(result.to_dict())
    else:
        show_result(result)
