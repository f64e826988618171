"""Rank correlation of every proxy with trained accuracy on random NAS-Bench-201 networks, beside a published table.

    FIRSTLIGHT_DATA=... python -m benchmarks.correlation [NETWORKS] [FOLDER]

500 networks take about an hour on two cores. Scores are kept in FOLDER (default: runs/correlation); a run that was cut
off goes on where it was.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd
from scipy.stats import spearmanr

from firstlight.console import watching
from firstlight.proxies import PROXIES, ProxyRequest, Score
from firstlight.run.executor import make_executor
from firstlight.run.scoring import ScoreService, Setting, source_for
from firstlight.run.store import Store

# our name -> column of the published table, where there is one
PUBLISHED = {
    "epe_nas": "epe_nas",
    "fisher": "fisher",
    "macs": "flops",
    "grad_norm": "grad_norm",
    "grasp": "grasp",
    "jacov": "jacov",
    "l2_norm": "l2_norm",
    "naswot": "nwot",
    "params": "params",
    "plain": "plain",
    "snip": "snip",
    "synflow": "synflow",
    "zen": "zen",
}


def tables(folder: Path, networks: int) -> pd.DataFrame:
    """Accuracy and published scores of networks drawn at random from those that the published table has."""
    accuracy = pd.read_parquet(folder / "nb201.parquet")[["index", "arch_str", "cifar10_test_200"]]
    published = pd.read_parquet(folder / "nb201_zc_proxies.parquet").query("dataset == 'cifar10'")
    both = accuracy.merge(published, on="index")
    return both.sample(networks, random_state=0).set_index("arch_str")


def main() -> None:
    networks = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "runs/correlation")
    folder.mkdir(parents=True, exist_ok=True)
    table = tables(Path(os.environ["FIRSTLIGHT_DATA"]), networks)
    requests = [ProxyRequest(entry) for entry in PROXIES.values()]
    setting = Setting("nasbench201", source_for(requests, "cifar10"))
    scores: dict[str, dict[str, Score]] = {}
    with Store(folder / "store.sqlite") as store, watching(networks) as watcher:
        for network in ScoreService(setting, requests, make_executor(), store).scores(table.index):
            scores[network.architecture] = network.scores
            watcher.saw(None)
    print(f"{'proxy':18}{'ours':>8}{'published':>11}{'agree':>8}{'scored':>8}   of {len(scores)} networks")
    for name in PROXIES:
        ours = pd.Series({text: found[name].utility for text, found in scores.items()}).dropna()
        if ours.nunique() < 2:
            print(f"{name:18}{'-':>8}   {next(iter(scores.values()))[name].note}")
            continue
        rho = spearmanr(ours, table.loc[ours.index, "cifar10_test_200"]).statistic
        line = f"{name:18}{rho:8.3f}"
        if name in PUBLISHED:
            theirs = table.loc[ours.index, PUBLISHED[name]]
            rho = spearmanr(theirs, table.loc[ours.index, "cifar10_test_200"], nan_policy="omit").statistic
            line += f"{rho:11.3f}{spearmanr(ours, theirs, nan_policy='omit').statistic:8.3f}"
        else:
            line += " " * 19
        print(f"{line}{len(ours):8}")


if __name__ == "__main__":
    main()
