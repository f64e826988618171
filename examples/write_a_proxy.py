"""Write your own proxy: a formula over the measurements of a probe. Here: how independent channels are."""

import firstlight
from firstlight import Parts, Probe, proxy
from firstlight.probe.spectra import InverseCondition


@proxy
def weakest_layer(probe: Probe) -> Parts:
    """Log of the mean ratio of singular values over all layers, with the smallest ratio as a part."""
    ratios = probe.feature_statistic(InverseCondition(), modules="leaf").values
    return Parts(float(ratios.mean().log()), least=float(ratios.min()))


if __name__ == "__main__":
    ranking = firstlight.rank(
        "nasbench201",
        samples=12,
        proxies=[weakest_layer, "dextr", "params"],
        skeleton={"channels": 8, "cells": 1},
        workers=0,  # faster than starting workers for so few networks
    )
    for row in ranking.rows[:3]:  # sorted by the first proxy
        print(f"{row.value:.3f}  {row.network.architecture}")
    for pair in ranking.agreement:  # with a published proxy, and with the number of parameters as a baseline
        print(f"{pair.first} and {pair.second}: Spearman {pair.spearman:.2f}")
