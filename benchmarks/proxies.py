"""What proxies cost together and apart, as ratios of CPU time in one run.

Run with `make bench`. Ten random NAS-Bench-201 networks of the default skeleton, batches of 64, one thread, building
excluded.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.seeds import torch_generator
from firstlight.execution.memory import keep_freed_memory
from firstlight.probe import Probe
from firstlight.proxies import PROXIES
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.spaces import SPACES

NETWORKS = 10
GRADIENTS = ("grad_norm", "snip", "plain", "l2_norm", "fisher", "zico", "sigeo")
KERNELS = ("ntk_trace", "ntk_condition", "knas")
# for transformers and language models only; a check with a backward pass for every output
LEFT_OUT = {"dss", "zerolm", "ntk_trace_exact"}

Batches = list[tuple[Tensor, Tensor]]


def cpu_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def forward_backward(network: nn.Module, batches: Batches) -> None:
    """The plain passes: gradients of the loss with respect to all parameters."""
    network.train()
    for x, y in batches:
        network.zero_grad()
        F.cross_entropy(network(x), y).backward()
    network.zero_grad()


def ask(network: nn.Module, batches: Batches, names: Sequence[str]) -> None:
    scores = measure_all([ProxyRequest.parse(name) for name in names], Probe(network, batches))
    unfit = {name: score.note for name, score in scores.items() if score.status not in ("ok", "non_finite")}
    if unfit:
        raise RuntimeError(f"no score: {unfit}")


def measure(network: nn.Module, batches: Batches) -> Counter[str]:
    names = [name for name in PROXIES if name not in LEFT_OUT]
    forward_backward(network, batches[:1])  # the first pass of a network is slower
    seconds: Counter[str] = Counter()
    seconds["1 pass"] = cpu_seconds(lambda: forward_backward(network, batches[:1]))
    seconds["kernels"] = cpu_seconds(lambda: ask(network, batches, KERNELS))
    seconds["4 passes"] = cpu_seconds(lambda: forward_backward(network, batches))
    seconds["gradients"] = cpu_seconds(lambda: ask(network, batches, GRADIENTS))
    seconds["all"] = cpu_seconds(lambda: ask(network, batches, names))
    for name in names:
        seconds[f"alone: {name}"] = cpu_seconds(lambda name=name: ask(network, batches, [name]))  # type: ignore[misc]
    return seconds


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    generator = torch_generator(0, "batches")
    batches = [
        (torch.randn(64, 3, 32, 32, generator=generator), torch.randint(10, (64,), generator=generator))
        for _ in range(4)
    ]
    rng = random.Random(0)
    space = SPACES["nasbench201"]
    total: Counter[str] = Counter()
    for number in range(NETWORKS):
        total.update(measure(space.build(space.sample(rng)), batches))
        print(f"\r{number + 1}/{NETWORKS} networks", end="", file=sys.stderr, flush=True)
    print(f"\n{'proxy alone':24}{'CPU s':>8}{'forward-backward passes':>26}")
    alone = {name.removeprefix("alone: "): value for name, value in total.items() if name.startswith("alone: ")}
    for name, value in sorted(alone.items(), key=lambda item: -item[1]):
        print(f"{name:24}{value / NETWORKS:8.2f}{4 * value / total['4 passes']:26.2f}")
    print(f"\nAll {len(alone)} together: {4 * total['all'] / total['4 passes']:.1f} passes, ", end="")
    print(f"{sum(alone.values()) / total['all']:.2f} times less CPU than each alone")
    print(f"{', '.join(GRADIENTS)}: {total['gradients'] / total['4 passes']:.2f} times the four passes they need")
    print(f"{', '.join(KERNELS)}: {total['kernels'] / total['1 pass']:.2f} times one pass")


if __name__ == "__main__":
    main()
