"""What a Dextr score costs, as ratios of CPU time in one run: against the textbook way, and in forward passes.

Run with `make bench`. Twenty random NAS-Bench-201 networks of the default skeleton, one thread, building excluded.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable

import torch
from tests import textbook

from firstlight.core.seeds import torch_generator
from firstlight.execution.memory import keep_freed_memory
from firstlight.probe import Probe
from firstlight.probe.curvature import circle_basis
from firstlight.proxies.dextr import curvature, dextr, independence
from firstlight.spaces import SPACES
from firstlight.spaces.base import Architecture

NETWORKS = 20
ROUNDS = 4
FORWARD, DEXTR, TEXTBOOK = "one plain forward pass", "Dextr", "Dextr, textbook"


def cpu_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(number: int, architecture: Architecture) -> dict[str, float]:
    """CPU seconds of each piece for one network: the least of several rounds, since a busy machine only ever adds."""
    space = SPACES["nasbench201"]
    network = space.build(architecture)
    image = torch.randn(1, 3, 32, 32, generator=torch_generator(0, "image"))
    basis = circle_basis(3 * 64 * 64, 0).float()
    coordinates = torch.randint(10, (10,), generator=torch_generator(number, "coordinates")).tolist()
    pieces: dict[str, Callable[[], object]] = {
        "building the network": lambda: space.build(architecture),
        FORWARD: torch.no_grad()(lambda: network(image)),
        "independence part": lambda: independence(Probe(network, image)),
        "curvature part": lambda: curvature(Probe(network, image)),
        DEXTR: lambda: dextr(Probe(network, image)),
        TEXTBOOK: lambda: textbook.dextr(network, image, basis, (3, 64, 64), coordinates),
    }
    rounds = [{name: cpu_seconds(piece) for name, piece in pieces.items()} for _ in range(ROUNDS)]
    return {name: min(times[name] for times in rounds) for name in pieces}


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    rng = random.Random(0)
    seconds: Counter[str] = Counter()
    for number in range(NETWORKS):
        seconds.update(measure(number, SPACES["nasbench201"].sample(rng)))
        print(f"\r{number + 1}/{NETWORKS} networks", end="", file=sys.stderr, flush=True)
    print(f"\n{'':24}{'CPU ms':>10}{'forward passes':>17}")
    for name, total in seconds.items():
        print(f"{name:24}{1000 * total / NETWORKS:10.1f}{total / seconds[FORWARD]:17.2f}")
    print(f"\nDextr against the textbook: {seconds[TEXTBOOK] / seconds[DEXTR]:.1f} times less CPU")
    print(f"Dextr in plain forward passes: {seconds[DEXTR] / seconds[FORWARD]:.2f}")


if __name__ == "__main__":
    main()
