"""Find the best network of NAS-Bench-201 within a latency limit for one image on this machine."""

import random
import statistics

import torch

import firstlight
from firstlight.scoring.latency import measure_latency

SKELETON = {"channels": 8, "cells": 1}


def usual_latency() -> float:
    """Return the median latency of a few random networks: a limit that rules out some, but not all."""
    space, rng = firstlight.space("nasbench201"), random.Random(0)
    networks = [space.build(space.sample(rng), space.skeleton(**SKELETON)) for _ in range(5)]
    image = torch.randn(1, 3, 32, 32)
    return statistics.median(measure_latency(network, image).median for network in networks)


if __name__ == "__main__":  # worker processes import this file
    limit = usual_latency()
    result = firstlight.search(
        "nasbench201", proxy="dextr", samples=8, max_latency=limit, objectives="latency", skeleton=SKELETON, workers=0
    )
    print(f"At most {limit:.2f} ms: {result.best.architecture}")
    print(f"{result.rejected} networks were too slow.")
    for trial in result.front:
        print(f"  {trial.amount('latency'):.2f} ms  {trial.utility:.3f}  {trial.architecture}")
