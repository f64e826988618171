"""A proxy of your own: a formula over what a probe measures. Here: how evenly a network's layers are independent."""

import firstlight
from firstlight import Parts, Probe, proxy
from firstlight.probe.spectra import InverseCondition


@proxy
def weakest_layer(probe: Probe) -> Parts:
    """The logarithm of the mean ratio of singular values, and of its least, over all layers."""
    ratios = probe.feature_statistic(InverseCondition(), modules="leaf").values
    return Parts(float(ratios.mean().log()), least=float(ratios.min()))


if __name__ == "__main__":
    ranking = firstlight.rank(
        "nasbench201",
        samples=12,
        proxies=[weakest_layer, "dextr", "params"],
        skeleton={"channels": 8, "cells": 1},
        workers=0,  # so few are quicker in this process
    )
    for row in ranking.rows[:3]:  # in order of the first proxy
        print(f"{row.value:.3f}  {row.network.architecture}")
    for pair in ranking.agreement:  # with a published proxy, and with counting parameters: the baseline
        print(f"{pair.first} and {pair.second}: Spearman {pair.spearman:.2f}")
