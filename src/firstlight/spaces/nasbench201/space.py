"""NAS-Bench-201 (NATS-Bench topology space): 15,625 cells of four nodes (Dong & Yang, ICLR 2020)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.cells import EDGES
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.nasbench201.network import Skeleton201, cell_network, cost_of, network_of
from firstlight.spaces.reading import Reader

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot, Supernet
    from firstlight.spaces.supernets.shared import Shared


class NASBench201(Space[Cell201]):
    """Cells with four nodes and six edges; every edge has one of five operations."""

    name = "nasbench201"
    evidence = "0.935 [0.919, 0.946] on 1,000 networks, CIFAR-10; params 0.758 [0.723, 0.790] (dextr-table1)"
    summary = "cells of four nodes, five operations on six edges: 15,625 architectures, 6,466 distinct"
    reference = "Dong2020nasbench201"
    channels_last = True
    benchmark = "NAS-Bench-201 and NATS-Bench (topology): all trained on CIFAR-10, CIFAR-100 and ImageNet16-120"
    used_by = (
        "Asthana2025dextr",
        "Chen2021tenas",
        "Lee2024aznas",
        "Mellor2021naswot",
        "Shu2022hnas",
        "Shu2022nasi",
        "Xu2021knas",
        "Zhang2022gradsign",
        "Zheng2023sigeo",
    )
    skeleton_type = Skeleton201

    def __len__(self) -> int:
        return 15_625  # five operations on six edges

    def __iter__(self) -> Iterator[Cell201]:
        return map(Cell201, itertools.product(OPERATIONS, repeat=len(EDGES)))

    def sample(self, rng: random.Random) -> Cell201:
        return Cell201(tuple(rng.choice(OPERATIONS) for _ in EDGES))

    def mutate(self, architecture: Cell201, rng: random.Random) -> Cell201:
        edge = rng.randrange(len(EDGES))
        operations = list(architecture.operations)
        operations[edge] = rng.choice([op for op in OPERATIONS if op != operations[edge]])
        return Cell201(tuple(operations))

    def parse(self, text: str) -> Cell201:
        reader = Reader(text)
        operations = []
        for target, source in EDGES:
            if source == 0:
                reader.skip("+|" if target > 1 else "|")
            operations.append(reader.one_of(OPERATIONS))
            reader.skip(f"~{source}|")
        reader.end()
        return Cell201(tuple(operations))

    def canonical(self, architecture: Cell201) -> Cell201:
        """Return the first cell of the space with the same function once skips and zeros are resolved."""
        return _first_of_class()[_function_text(architecture)]

    def choices(self) -> tuple[tuple[str, ...], ...]:
        return (OPERATIONS,) * len(EDGES)

    def from_choices(self, indices: Sequence[int]) -> Cell201:
        return Cell201(tuple(OPERATIONS[index] for index in indices))

    def to_choices(self, architecture: Cell201) -> tuple[int, ...]:
        return tuple(map(OPERATIONS.index, architecture.operations))

    def network(self, architecture: Cell201, skeleton: Skeleton201) -> nn.Module:
        return network_of(skeleton, lambda channels: cell_network(architecture, channels, channels))

    def cost(self, architecture: Cell201, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, a thousand times faster than counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, Skeleton201)
        return cost_of(skeleton, lambda tally, channels: tally.cell(architecture, channels, channels))

    def supernet(self) -> Supernet:
        from firstlight.spaces.nasbench201.supernet import Supernet201

        return Supernet201()

    def one_shot(self) -> OneShot:
        from firstlight.spaces.nasbench201.supernet import OneShot201

        return OneShot201()

    def shared(self) -> Shared:
        from firstlight.spaces.nasbench201.shared import SharedCells

        return SharedCells()

    def drawing(self, architecture: Cell201, skeleton: Skeleton | None = None) -> Drawing:
        edges = [
            (source, target, operation)
            for (target, source), operation in zip(EDGES, architecture.operations, strict=True)
            if operation != "none"
        ]
        return Drawing(("input", "1", "2", "output"), tuple(edges))


def _function_text(architecture: Cell201) -> str:
    """Write the cell's output as nested text without skips, with '#' for zero, by the rule of NATS-Bench."""
    nodes = ["0"]
    for target in range(1, 4):
        terms = []
        for (node, source), operation in zip(EDGES, architecture.operations, strict=True):
            if node != target:
                continue
            if operation == "none" or nodes[source] == "#":
                terms.append("#")
            elif operation == "skip_connect":
                terms.append(nodes[source])
            else:
                terms.append(f"({nodes[source]})@{operation}")
        nodes.append("+".join(sorted(terms)))
    return nodes[-1]


@functools.cache
def _first_of_class() -> dict[str, Cell201]:
    first: dict[str, Cell201] = {}
    for architecture in NASBench201():
        first.setdefault(_function_text(architecture), architecture)
    return first
