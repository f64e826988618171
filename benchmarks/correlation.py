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

import firstlight
from firstlight.core.statistics import spearman
from firstlight.tables.table import as_table
from firstlight.views.console.progress import showing

TARGET = "cifar10_test_200"
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
    accuracy = pd.read_parquet(folder / "nb201.parquet")[["index", "arch_str", TARGET]]
    published = pd.read_parquet(folder / "nb201_zc_proxies.parquet").query("dataset == 'cifar10'")
    return accuracy.merge(published, on="index").sample(networks, random_state=0)


def main() -> None:
    networks = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "runs/correlation")
    both = tables(Path(os.environ["FIRSTLIGHT_DATA"]), networks)
    table = as_table(both[["arch_str", TARGET]], "nb201")
    with showing() as callback:
        study = firstlight.correlate(
            "nasbench201",
            table=table,
            target=TARGET,
            proxies="all",
            samples="all",
            exact=True,
            input="cifar10",
            out=folder,
            callback=callback,
        )
    truth = study.truth(TARGET)
    columns = both.set_index("arch_str").loc[study.sample.rows["architecture"]]
    print(f"{'proxy':18}{'ours':>8}{'published':>11}{'agree':>8}{'scored':>8}   of {networks} networks")
    for name, found in study.quality[TARGET].items():
        if not found.estimates:
            print(f"{name:18}{'-':>8}   {found.note}")
            continue
        line = f"{name:18}{found.estimates['spearman'].value:8.3f}"
        if name in PUBLISHED:
            ours, theirs = study.utilities[0][name], columns[PUBLISHED[name]].to_numpy(dtype=float)
            known = pd.notna(ours) & pd.notna(theirs)
            line += f"{spearman(theirs[known], truth[known]):11.3f}{spearman(ours[known], theirs[known]):8.3f}"
        else:
            line += " " * 19
        print(f"{line}{found.networks:8}")


if __name__ == "__main__":
    main()
