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

from firstlight.probe import Probe
from firstlight.probe.curvature import circle_basis
from firstlight.proxies.dextr import curvature, dextr, independence
from firstlight.run.memory import keep_freed_memory
from firstlight.seeds import torch_generator
from firstlight.spaces import SPACES, Architecture

NETWORKS = 20
FORWARD, DEXTR, TEXTBOOK = "one plain forward pass", "Dextr", "Dextr, textbook"


def cpu_seconds(function: Callable[[], object], repeats: int) -> float:
    function()
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats


def measure(number: int, architecture: Architecture) -> dict[str, float]:
    """CPU seconds of each piece for one network."""
    space = SPACES["nasbench201"]
    network = space.build(architecture)
    image = torch.randn(1, 3, 32, 32, generator=torch_generator(0, "image"))
    basis = circle_basis(3 * 64 * 64, 0).float()
    coordinates = torch.randint(10, (10,), generator=torch_generator(number, "coordinates")).tolist()
    with torch.no_grad():
        plain = cpu_seconds(lambda: network(image), 20)
    return {
        "building the network": cpu_seconds(lambda: space.build(architecture), 3),
        FORWARD: plain,
        "independence part": cpu_seconds(lambda: independence(Probe(network, image)), 3),
        "curvature part": cpu_seconds(lambda: curvature(Probe(network, image)), 3),
        DEXTR: cpu_seconds(lambda: dextr(Probe(network, image)), 8),
        TEXTBOOK: cpu_seconds(lambda: textbook.dextr(network, image, basis, (3, 64, 64), coordinates), 2),
    }


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
