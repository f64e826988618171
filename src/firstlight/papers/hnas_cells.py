"""HNAS (Shu et al., NeurIPS 2022): width and depth of DARTS cells, and the tangent kernel of their networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstlight.core.statistics import FEWEST, Estimate, Numbers
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas_bounds import KAPPA, METRICS
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.measuring import Measuring
from firstlight.spaces.darts.genotypes import NODES, Cell, Genotype
from firstlight.spaces.darts.space import DARTS

SPACE = "darts"
INPUTS = (0, 1)
CELLS = 5
EVERYWHERE = "sep_conv_3x3"
_PUBLISHED = {
    "DARTS, first order": (
        "Genotype(normal=[('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 0), ('sep_conv_3x3', 1), "
        "('skip_connect', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 2)], "
        "normal_concat=range(2, 6), reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), "
        "('max_pool_3x3', 0), ('max_pool_3x3', 0), ('skip_connect', 2), ('skip_connect', 2), ('avg_pool_3x3', 0)], "
        "reduce_concat=range(2, 6))"
    ),
    "DARTS, second order": (
        "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1), "
        "('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)], "
        "normal_concat=range(2, 6), reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), "
        "('max_pool_3x3', 1), ('max_pool_3x3', 0), ('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1)], "
        "reduce_concat=range(2, 6))"
    ),
    "AmoebaNet": (
        "Genotype(normal=[('avg_pool_3x3', 0), ('max_pool_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_5x5', 2), "
        "('sep_conv_3x3', 0), ('avg_pool_3x3', 3), ('sep_conv_3x3', 1), ('skip_connect', 1), ('skip_connect', 0), "
        "('avg_pool_3x3', 1)], normal_concat=range(4, 7), reduce=[('avg_pool_3x3', 0), ('sep_conv_3x3', 1), "
        "('max_pool_3x3', 0), ('sep_conv_7x7', 2), ('sep_conv_7x7', 0), ('avg_pool_3x3', 1), ('max_pool_3x3', 0), "
        "('max_pool_3x3', 1), ('conv_7x1_1x7', 0), ('sep_conv_3x3', 5)], reduce_concat=[3, 4, 6])"
    ),
}
CONVENTION = (
    "Width and depth are those of the normal cell. A node adds to the width the share of its inputs that are inputs of "
    "the cell. The depth is the number of nodes on the longest path through the cell, plus one for its output."
)
NETWORKS = (
    f"By default (--skeleton), networks have 16 channels and {CELLS} cells. kappa and M are those of the kernel of one "
    "batch, as medians over seeds, which draw weights and images. The paper's batches have 64 images; fewer images "
    "make kappa lower."
)


def width(cell: Cell) -> float:
    """Return the width in units of the channels c of a node.

        width = sum over nodes of the share of a node's two inputs that are inputs of the cell: 1, 1/2 or 0

    (Shu, Wang, Cai, ICLR 2020: the summed width of intermediate nodes that are connected to the cell's inputs.)
    """
    return sum(source in INPUTS for _, source in cell.edges) / 2


def depth(cell: Cell) -> int:
    """Return the number of nodes on the longest path from an input to the output, plus one.

    A cell whose nodes all read inputs only has depth 2 (Shu, Wang, Cai, ICLR 2020).
    """
    longest = dict.fromkeys(INPUTS, 0)
    for node in range(cell.nodes):
        longest[2 + node] = 1 + max(longest[source] for _, source in cell.edges_of(node))
    return 1 + max(longest[state] for state in cell.concat)


def widest() -> Genotype:
    """Return the genotype in which every node reads the two inputs."""
    return _of_one_cell(tuple((EVERYWHERE, source) for _ in range(NODES) for source in INPUTS))


def deepest() -> Genotype:
    """Return the genotype in which every node reads an input and the node before it."""
    return _of_one_cell(tuple((EVERYWHERE, source) for node in range(NODES) for source in (0, 1 + node)))


def _of_one_cell(edges: tuple[tuple[str, int], ...]) -> Genotype:
    return Genotype(Cell(edges), Cell(edges))


def cells() -> dict[str, Genotype]:
    """Return the genotypes to measure by title."""
    published = {title: DARTS().parse(text) for title, text in _PUBLISHED.items()}
    return published | {f"widest, {EVERYWHERE}": widest(), f"deepest, {EVERYWHERE}": deepest()}


@dataclass(frozen=True)
class Kernels:
    """kappa and M, with a row for each cell and a column for each seed."""

    kappa: Numbers
    m: Numbers


def kernels(lab: Lab, genotypes: list[Genotype]) -> Kernels:
    """Measure the kernels of the networks of genotypes, with every seed of the lab."""
    texts = [str(genotype) for genotype in genotypes]
    skeleton = tuple(sorted(({"cells": CELLS} | dict(lab.skeleton)).items()))
    columns: dict[str, list[Numbers]] = {KAPPA: [], METRICS["Trace"]: []}
    with lab.executor.staying():
        for seed in lab.seeds:
            setting = lab.setting(SPACE, seed=seed, skeleton_settings=skeleton)
            measuring = Measuring(setting, lab.executor, lab.store, lab.callback)
            for proxy, found in columns.items():
                found.append(measuring.utilities(ProxyRequest.parse(proxy), texts, lab.samples))
    # lower condition numbers are better, so that their utilities are negative
    return Kernels(-np.stack(columns[KAPPA], axis=1), np.stack(columns[METRICS["Trace"]], axis=1))


def _table2(lab: Lab) -> Findings:
    named = cells()
    found = kernels(lab, list(named.values()))
    lines = []
    for place, (title, genotype) in enumerate(named.items()):
        lines += [
            _known("width, in c", title, width(genotype.normal)),
            _known("depth", title, depth(genotype.normal)),
            _median(lab, "kappa", title, found.kappa[place]),
            _median(lab, "M, Trace", title, found.m[place]),
        ]
    return Findings(tuple(lines))


def _known(what: str, on: str, value: float) -> Finding:
    return Finding(what, on, Estimate(value, value, value), note="by counting")


def _median(lab: Lab, what: str, on: str, values: Numbers) -> Finding:
    known = values[np.isfinite(values)]
    note = f"{len(known)} of {len(values)} seeds"
    if 0 < len(known) < FEWEST:
        note += f", median {np.median(known):.4g}"
    return Finding(what, on, lab.estimate(lambda column: float(np.median(column)), values), note=note)


hnas_table2 = Experiment(
    "hnas-table2",
    (read_paper("hnas")["table2"],),
    "width and depth of cells of the DARTS space, and the tangent kernel of their networks",
    (),
    samples=16,
    run=_table2,
    remarks=(CONVENTION, NETWORKS),
    seeds=10,
    sampled=("images",),
)
