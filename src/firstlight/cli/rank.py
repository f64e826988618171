"""`firstlight rank`: networks in order of their scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.api.common import check_names
from firstlight.api.rank import rank as call
from firstlight.cli.derive import COMMAND, derived
from firstlight.cli.networks import from_flag, read_networks, seed_of
from firstlight.cli.printing import fail_without_scores, print_json


def _flags(
    *,
    top: Annotated[int | None, Parameter(help="Print only the N best.", group=COMMAND)] = None,
    out: Annotated[
        str | None, Parameter(name=("--out", "-o"), help="Also write all rows to this CSV file.", group=COMMAND)
    ] = None,
) -> None:
    """Flags of this command alone."""


@derived(call, more=(from_flag, _flags))
def rank(given: dict[str, Any]) -> None:
    """Rank networks by a proxy or an ensemble, and print how well the proxies agree.

    NETWORKS is a search space, followed by architectures; or your own models as module:name. Apart from these
    modules, no code of yours is imported.

    For example:
    firstlight rank nasbench201 --samples 100 --proxy dextr,params --top 10
    firstlight rank nasbench201 --from architectures.txt --by 'rank_mean(dextr*2,params)'
    firstlight rank mypackage.models:small mypackage.models:large --input-shape 3,32,32
    """
    as_json, top, out = given.pop("json", False), given.pop("top", None), given.pop("out", None)
    name, others = given.pop("networks"), given.pop("architectures", ())
    check_names(space=name, proxies=[given.get("proxies"), given.get("by")])
    networks, architectures = read_networks(name, others, given.pop("from_file", None), seed_of(given))
    from firstlight.views.console.progress import showing
    from firstlight.views.console.ranking import show_ranking

    with showing() as callback:
        ranking = call(networks, architectures, **given, callback=callback)
    if as_json:
        content = ranking.to_dict()
        print_json(content | {"networks": content["networks"][:top]})
    else:
        show_ranking(ranking, top)
    if out is not None:
        ranking.write_csv(Path(out))
    fail_without_scores(row.network for row in ranking.rows)
