"""What a step of NASI costs against double backward through all operations, in CPU time and memory of one run each.

Run with `make bench`. Random paths through the one-shot network of NAS-Bench-201 of the default skeleton, one thread;
each way in a process of its own, for its memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.execution.memory import keep_freed_memory
from firstlight.spaces import SPACES
from firstlight.spaces.supernets import OneShot, set_weights
from firstlight.spaces.supernets.trace_step import Path, ready_for_steps, trace_along, trace_step

Way = Callable[[nn.Module, Path, Tensor, Tensor], object]


def through_everything(network: nn.Module, path: Path, x: Tensor, labels: Tensor) -> object:
    """The textbook's way: all operations run, with a weight of 0 or 1 that derivatives are taken by."""
    weights: dict[str, Tensor] = {}
    for name, options in _options().items():
        weights[name] = torch.tensor([float(option in path[name]) for option in options], requires_grad=True)
        set_weights(network, name, list(weights[name].unbind()))
    loss = F.cross_entropy(network(x), labels)
    gradients = torch.autograd.grad(loss, list(network.parameters()), create_graph=True, allow_unused=True)
    trace = torch.stack([gradient.square().sum() for gradient in gradients if gradient is not None]).sum()
    return torch.autograd.grad(trace, list(weights.values()))


WAYS: dict[str, Way] = {
    "T alone": trace_along,
    "T and all slopes": trace_step,
    "double backward": through_everything,
}


def _one_shot() -> OneShot:
    return SPACES["nasbench201"].one_shot()


def _options() -> dict[str, tuple[str, ...]]:
    return {choice.name: choice.options for choice in _one_shot().choices}


def measure(way: str, batch: int, steps: int) -> tuple[float, float]:
    """CPU seconds a step, and the largest memory of the process in MiB."""
    torch.set_num_threads(1)
    keep_freed_memory()
    network = ready_for_steps(_one_shot().build(SPACES["nasbench201"].skeleton()))
    generator, rng = torch.Generator().manual_seed(0), random.Random(0)
    seconds = 0.0
    for number in range(steps + 1):
        x = torch.randn(batch, 3, 32, 32, generator=generator)
        labels = torch.randint(10, (batch,), generator=generator)
        path = {name: [rng.choice(options[1:])] for name, options in _options().items()}
        start = time.process_time()
        WAYS[way](network, path, x, labels)
        if number:  # the first one also loads what PyTorch needs
            seconds += time.process_time() - start
    return seconds / steps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5)
    asked = parser.parse_args()
    found = {}
    for way in WAYS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[way] = pool.apply(measure, (way, asked.batch, asked.steps))
        print(f"{way:18}{found[way][0]:8.2f} s of CPU a step{found[way][1]:8.0f} MiB", file=sys.stdout, flush=True)
    ours, textbook = found["T and all slopes"], found["double backward"]
    print(f"A step takes {textbook[0] / ours[0]:.1f} times less CPU than double backward through all operations.")


if __name__ == "__main__":
    main()
