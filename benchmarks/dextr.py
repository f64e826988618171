"""What a Dextr score costs, as ratios of CPU time in one run: against the textbook way, and in forward passes.

Random NAS-Bench-201 networks of the default skeleton, one thread. The textbook builds all five operations on each edge,
as the published network does, takes the singular values of the output of each hook, and twenty backward passes for
the curvature of ten outputs at 64x64 pixels.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import torch
from benchmarks.floors import products_of_three
from benchmarks.rows import Row, least
from tests import textbook

from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.probe.curvature import circle_basis
from firstlight.proxies.dextr import curvature, dextr, independence
from firstlight.spaces import SPACES
from firstlight.spaces.base import Architecture

ROUNDS = 3
PART = "Dextr on nasbench201"
LARGE = (3, 64, 64)
BUILDING, FORWARD, SCORE, PRODUCTS = "building the network", "one forward pass", "Dextr", "products of three images"
INDEPENDENCE, CURVATURE = "its independence part", "its curvature part"
ALL_FIVE, TEXTBOOK = "textbook: building with all five operations", "textbook: Dextr"


def measure(number: int, architecture: Architecture) -> dict[str, float]:
    """CPU seconds of each piece for one network."""
    space = SPACES["nasbench201"]
    network, published = space.build(architecture), textbook.published_network(architecture)
    image = torch.randn(1, 3, 32, 32, generator=torch_generator(0, "image"))
    basis = circle_basis(torch.Size(LARGE).numel(), 0).float()
    coordinates = torch.randint(10, (10,), generator=torch_generator(number, "coordinates")).tolist()
    pieces: dict[str, Callable[[], object]] = {
        BUILDING: lambda: space.build(architecture),
        FORWARD: torch.no_grad()(lambda: network(image)),
        SCORE: lambda: dextr(Probe(network, image)),
        INDEPENDENCE: lambda: independence(Probe(network, image)),
        CURVATURE: lambda: curvature(Probe(network, image)),
        PRODUCTS: products_of_three(network, LARGE),
        ALL_FIVE: lambda: textbook.published_network(architecture),
        TEXTBOOK: lambda: textbook.dextr(published, image, basis, LARGE, coordinates),
    }
    return least(pieces, ROUNDS)


def rows(networks: int) -> list[Row]:
    rng = random.Random(0)
    seconds: Counter[str] = Counter()
    for number in range(networks):
        seconds.update(measure(number, SPACES["nasbench201"].sample(rng)))
    ms = {name: 1000 * total / networks for name, total in seconds.items()}
    floor = ms[FORWARD] + ms[PRODUCTS]
    ours, theirs = ms[BUILDING] + ms[SCORE], ms[ALL_FIVE] + ms[TEXTBOOK]
    floors = {SCORE: floor, INDEPENDENCE: ms[FORWARD], CURVATURE: ms[PRODUCTS]}
    named = {
        SCORE: "a forward pass, and the convolutions of three images of 64x64 pixels",
        INDEPENDENCE: "a forward pass",
        CURVATURE: "the convolutions of three images of 64x64 pixels",
    }
    found = [Row(PART, name, value, "CPU ms", floors.get(name), named.get(name, "")) for name, value in ms.items()]
    return [
        *found,
        Row(PART, "textbook against Dextr, building included", theirs / ours, "times the CPU"),
        Row(PART, "Dextr without building", ms[SCORE] / ms[FORWARD], "forward passes", floor / ms[FORWARD]),
    ]
