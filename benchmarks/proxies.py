"""What proxies cost together and apart, in passes of CPU time in one run.

Random NAS-Bench-201 networks of the default skeleton, batches of 64, one thread, building excluded. A pass goes forward
and backward through one batch.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from benchmarks.rows import Row, cpu_seconds
from torch import Tensor, nn

from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.proxies import PROXIES
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.spaces import SPACES

PART = "Proxies on nasbench201, batches of 64"
GRADIENTS = ("grad_norm", "snip", "plain", "l2_norm", "fisher", "zico", "sigeo")
KERNELS = ("ntk_trace", "ntk_condition", "knas")
# for transformers and language models only; a check with a backward pass for every output
LEFT_OUT = {"dss", "zerolm", "ntk_trace_exact"}

Batches = list[tuple[Tensor, Tensor]]


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


def rows(networks: int) -> list[Row]:
    generator = torch_generator(0, "batches")
    batches = [
        (torch.randn(64, 3, 32, 32, generator=generator), torch.randint(10, (64,), generator=generator))
        for _ in range(4)
    ]
    rng = random.Random(0)
    space = SPACES["nasbench201"]
    total: Counter[str] = Counter()
    for _ in range(networks):
        total.update(measure(space.build(space.sample(rng)), batches))
    one = total["4 passes"] / 4
    alone = {name.removeprefix("alone: "): value for name, value in total.items() if name.startswith("alone: ")}
    gradients, kernels = ", ".join(GRADIENTS), ", ".join(KERNELS)
    together = f"all {len(alone)} together"
    return [
        *(Row(PART, name, value / one, "passes") for name, value in sorted(alone.items(), key=lambda item: -item[1])),
        Row(PART, together, total["all"] / networks, "CPU s"),
        Row(PART, together, total["all"] / one, "passes"),
        Row(PART, "each alone, added up", sum(alone.values()) / one, "passes"),
        Row(PART, gradients, total["gradients"] / one, "passes", 4.0, "a pass for each of their four batches"),
        Row(PART, kernels, total["kernels"] / total["1 pass"], "passes", 1.0, "a pass of their batch"),
    ]
