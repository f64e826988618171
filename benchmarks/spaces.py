"""What a Dextr score costs in each space of images, in forward passes of one image, beside its floor."""

from __future__ import annotations

import random
from collections import Counter

import torch
from benchmarks.floors import products_of_three
from benchmarks.rows import Row, least

from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.proxies.dextr import dextr
from firstlight.spaces import SPACES

NAMES = (
    *("nasbench201", "nasbench101", "nasbench1shot1-s1", "transnas-micro", "nats-sss", "darts", "mobilenetv2"),
    "autoformer-tiny",
)
ROUNDS = 2


def rows(networks: int) -> list[Row]:
    found = []
    for name in NAMES:
        space, rng = SPACES[name], random.Random(0)
        seconds: Counter[str] = Counter()
        for _ in range(networks):
            architecture = space.sample(rng)
            network = space.build(architecture)
            image = torch.randn(1, *space.skeleton().input_shape, generator=torch_generator(0, "image"))
            shape = Probe(network, image).output_jet().shape
            pieces = {
                "building": lambda a=architecture, s=space: s.build(a),
                "forward": torch.no_grad()(lambda n=network, x=image: n(x)),
                "dextr": lambda n=network, x=image: dextr(Probe(n, x)),
                "products": products_of_three(network, shape),
            }
            seconds.update(least(pieces, ROUNDS))
        forward = seconds["forward"]
        floor = (forward + seconds["products"]) / forward
        what = (
            f"{name}: {1000 * seconds['dextr'] / networks:.0f} ms, building {1000 * seconds['building'] / networks:.0f}"
        )
        found.append(Row("Dextr in each space", what, seconds["dextr"] / forward, "forward passes", floor))
    return found
