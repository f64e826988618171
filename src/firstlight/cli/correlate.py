"""`firstlight correlate`: how well proxies rank networks whose accuracy is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstlight.api.correlate import correlate as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, resumable, say
from firstlight.options import AUTO


@derived(call, usual={"out": AUTO})
def correlate(given: dict[str, Any]) -> None:
    """Compare proxies with true accuracies: rank correlations and top networks found, with 95% intervals.

    Scores are stored in the run folder: running it again, or with another proxy or target, computes only what is new.

    Spearman: how well the order by the proxy matches the order by accuracy, from 1 (the same) to -1 (reversed).
    Kendall: the same, by counting pairs in the right order. At equal cost: the Spearman correlation of what parameters
    and MACs do not explain. nDCG: how good the networks are that the proxy ranks first, from 0 to 1. Top 10% found: the
    fraction of the truly best tenth that is in the proxy's best tenth; fewer than 46 networks are too few to tell. Best
    of top 10: the best true value among the ten networks that the proxy ranks first. Regret: the best true value of all
    networks minus that of the network that the proxy ranks first. Behind the best: how much lower its Spearman
    correlation is than that of the first row. With --against params, a column shows how much higher it is than that of
    params. Networks: how many have a true value. No score: how many networks the proxy cannot score; they rank last,
    and the reason is given below the table.

    For example:
    firstlight correlate nasbench201 --table nb201.parquet --target cifar10_test_200 --proxy dextr,zico,params
    firstlight correlate nasbench201 --table nb201.parquet --target cifar10_test_200 --proxy all --ensemble
    firstlight correlate nasbench201 --table nb201.parquet --target cifar10_test_200 --proxy all --against params
    """
    as_json, ensemble = given.pop("json", False), given.get("ensemble", False)
    with resumable(None if given["out"] == AUTO else Path(given["out"])):
        from firstlight.views.console.progress import showing

        with showing() as callback:
            study = call(**given, callback=callback)
    if as_json:
        print_json(study.to_dict(ensemble=ensemble))
        return
    from firstlight.views.console.study import show_study

    show_study(study, ensemble=ensemble)
    say(f"\nReport, statistics and scores: {study.directory}")
