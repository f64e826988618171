"""DARTS and NAS-Bench-301: two cells of four nodes, seven operations, 10^18 genotypes (Liu et al., ICLR 2019)."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.darts.genotypes import CHOICES, NODES, Cell, Edge, Genotype, read_configuration, read_genotype
from firstlight.spaces.darts.network import DartsNetwork, DartsSkeleton, genotype_cost, genotype_wiring

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot, Supernet


class DARTS(Space[Genotype]):
    """Pairs of cells. Each node of a cell has two different earlier nodes as inputs, each through an operation."""

    name = "darts"
    evidence = (
        "0.496 [0.416, 0.582] on 333 networks, CIFAR-10; params 0.487 [0.402, 0.583]: no better than counting "
        "(dextr-table1)"
    )
    summary = "two cells of four nodes with two inputs each, seven operations: 10^18 genotypes, as in NAS-Bench-301"
    reference = "Liu2019darts"
    channels_last = True
    benchmark = "NAS-Bench-301: accuracies on CIFAR-10, predicted by a surrogate model"
    used_by = ("Asthana2025dextr", "Chen2021tenas", "Shu2022hnas", "Shu2022nasi", "Zheng2023sigeo")
    skeleton_type = DartsSkeleton

    def __len__(self) -> int:
        """Return the number of genotypes with ordered inputs. Some of them are the same graph."""
        cells = math.prod(math.comb(2 + node, 2) * len(CHOICES) ** 2 for node in range(NODES))
        return cells * cells

    def sample(self, rng: random.Random) -> Genotype:
        """Return a random genotype, uniformly, which equals decoding random weights of the relaxed cell."""
        return Genotype(_random_cell(rng), _random_cell(rng))

    def mutate(self, architecture: Genotype, rng: random.Random) -> Genotype:
        """Change the operation or the source of one edge in one of the cells."""
        if rng.random() < 0.5:
            return replace(architecture, normal=_mutated(architecture.normal, rng))
        return replace(architecture, reduce=_mutated(architecture.reduce, rng))

    def parse(self, text: str) -> Genotype:
        """Read a genotype in the usual form, or as a configuration of NAS-Bench-301.

        Genotypes of other spaces, such as NASNet and AmoebaNet, can be read too: one to five nodes, other lists of
        nodes to concatenate, and the operations `none`, sep_conv_7x7 and conv_7x1_1x7.

        Raises:
            ParseError: If the text is neither.
        """
        return read_configuration(text) if text.lstrip().startswith("{") else read_genotype(text)

    def from_nasbench301(self, configuration: Mapping[str, Any]) -> Genotype:
        """Return the genotype of a configuration. Settings that are not about cells are ignored."""
        return read_configuration(json.dumps(dict(configuration)))

    def operations(self, architecture: Genotype) -> set[str]:
        return {operation for cell in (architecture.normal, architecture.reduce) for operation, _ in cell.edges}

    def canonical(self, architecture: Genotype) -> Genotype:
        """Return the representative of all genotypes that differ in the order of inputs or the numbering of nodes."""
        return Genotype(_canonical_cell(architecture.normal), _canonical_cell(architecture.reduce))

    def network(self, architecture: Genotype, skeleton: DartsSkeleton) -> nn.Module:
        return DartsNetwork(skeleton, functools.partial(genotype_wiring, architecture))

    def cost(self, architecture: Genotype, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost without the auxiliary head, which is removed after training, as in published sizes."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, DartsSkeleton)
        return genotype_cost(architecture, skeleton)

    def supernet(self) -> Supernet:
        from firstlight.spaces.darts.supernet import DartsSupernet

        return DartsSupernet()

    def one_shot(self) -> OneShot:
        from firstlight.spaces.darts.supernet import DartsOneShot

        return DartsOneShot()

    def drawing(self, architecture: Genotype, skeleton: Skeleton | None = None) -> Drawing:
        """Draw both cells. n0, n1 and r0, r1 are the outputs of the two cells before."""
        nodes: list[str] = []
        edges: list[tuple[int, int, str]] = []
        for kind, cell in (("normal", architecture.normal), ("reduce", architecture.reduce)):
            start, output = len(nodes), len(nodes) + 2 + cell.nodes
            nodes += [*(f"{kind[0]}{state}" for state in range(2 + cell.nodes)), kind]
            edges += [
                (start + source, start + 2 + number // 2, operation)
                for number, (operation, source) in enumerate(cell.edges)
            ]
            edges += [(start + state, output, "concat") for state in cell.concat]
        return Drawing(tuple(nodes), tuple(edges))


def _random_cell(rng: random.Random) -> Cell:
    edges: list[Edge] = []
    for node in range(NODES):
        edges += [(rng.choice(CHOICES), source) for source in sorted(rng.sample(range(2 + node), 2))]
    return Cell(tuple(edges))


def _mutated(cell: Cell, rng: random.Random) -> Cell:
    edges = list(cell.edges)
    place = rng.randrange(len(edges))
    operation, source = edges[place]
    taken = {source, edges[place ^ 1][1]}  # the other edge of the node is its neighbor in the list
    other_sources = [state for state in range(2 + place // 2) if state not in taken]
    # a state must keep a reader, unless it is part of the output
    read_elsewhere = {*cell.concat, 0, 1, *(state for i, (_, state) in enumerate(edges) if i != place)}
    if other_sources and source in read_elsewhere and rng.random() < 0.5:
        edges[place] = operation, rng.choice(other_sources)
    else:
        edges[place] = rng.choice([other for other in CHOICES if other != operation]), source
    return replace(cell, edges=tuple(edges))


def _canonical_cell(cell: Cell) -> Cell:
    """Return the alphabetically first of all numberings of the nodes."""
    return min(_renumbered(cell), key=lambda other: ([(source, name) for name, source in other.edges], other.concat))


def _renumbered(cell: Cell) -> Iterator[Cell]:
    for order in itertools.permutations(range(2, 2 + cell.nodes)):
        number = {0: 0, 1: 1} | {state: 2 + place for place, state in enumerate(order)}
        edges: list[Edge] = []
        for state in order:
            pair = [(name, number[source]) for name, source in cell.edges_of(state - 2)]
            edges += sorted(pair, key=lambda edge: edge[::-1])
        if all(source < 2 + place // 2 for place, (_, source) in enumerate(edges)):
            yield Cell(tuple(edges), tuple(sorted(number[state] for state in cell.concat)))
