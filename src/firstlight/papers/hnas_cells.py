"""HNAS (Shu et al., NeurIPS 2022): width and depth of DARTS cells, and the tangent kernel of their networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstlight.core.statistics import FEWEST, Estimate, Numbers
from firstlight.papers.base import Finding, Findings, Published, Scale
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas_bounds import KAPPA, METRICS
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.measuring import Measuring
from firstlight.spaces.darts.genotypes import NODES, Cell, Genotype
from firstlight.spaces.darts.space import DARTS

SPACE = "darts"
EXACT = Scale("count", tolerance=0.0, widest=0.0)
KERNEL = Scale("kappa or M", tolerance=3.0, widest=60.0)
INPUTS = (0, 1)
CELLS = 5
EVERYWHERE = "sep_conv_3x3"
_PUBLISHED = {
    "NASNet": (
        "Genotype(normal=[('sep_conv_5x5', 1), ('sep_conv_3x3', 0), ('sep_conv_5x5', 0), ('sep_conv_3x3', 0), "
        "('avg_pool_3x3', 1), ('skip_connect', 0), ('avg_pool_3x3', 0), ('avg_pool_3x3', 0), ('sep_conv_3x3', 1), "
        "('skip_connect', 1)], normal_concat=range(2, 7), reduce=[('sep_conv_5x5', 1), ('sep_conv_7x7', 0), "
        "('max_pool_3x3', 1), ('sep_conv_7x7', 0), ('avg_pool_3x3', 1), ('sep_conv_5x5', 0), ('skip_connect', 3), "
        "('avg_pool_3x3', 2), ('sep_conv_3x3', 2), ('max_pool_3x3', 1)], reduce_concat=range(4, 7))"
    ),
    # the released cells of ENAS; nodes that no other reads are concatenated
    "ENAS": (
        "Genotype(normal=[('avg_pool_3x3', 0), ('sep_conv_3x3', 0), ('skip_connect', 0), ('sep_conv_5x5', 0), "
        "('skip_connect', 0), ('sep_conv_5x5', 1), ('sep_conv_3x3', 1), ('sep_conv_5x5', 0), ('avg_pool_3x3', 0), "
        "('sep_conv_5x5', 1)], normal_concat=range(2, 7), reduce=[('sep_conv_3x3', 1), ('sep_conv_3x3', 1), "
        "('max_pool_3x3', 0), ('avg_pool_3x3', 0), ('sep_conv_5x5', 1), ('sep_conv_5x5', 3), ('sep_conv_3x3', 1), "
        "('skip_connect', 0), ('max_pool_3x3', 0), ('sep_conv_5x5', 1)], reduce_concat=[2, 4, 5, 6])"
    ),
    "SNAS": (
        "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('dil_conv_3x3', 1), "
        "('skip_connect', 1), ('skip_connect', 0), ('skip_connect', 0), ('sep_conv_3x3', 1)], "
        "normal_concat=range(2, 6), reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('max_pool_3x3', 1), "
        "('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), ('dil_conv_5x5', 2)], "
        "reduce_concat=range(2, 6))"
    ),
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
WIDE, DEEP = f"widest, {EVERYWHERE}", f"deepest, {EVERYWHERE}"
# The published rows whose titles differ from ours
PUBLISHED_AS = {"DARTS, second order": "DARTS", WIDE: "WIDE", DEEP: "DEEP"}
TABLE2 = read_paper("hnas")["table2"]
CONVENTION = (
    "Width and depth are those of the normal cell. A node adds to the width the share of its inputs that are inputs of "
    "the cell. The depth is the number of nodes on the longest path through the cell, plus one for its output."
)
NETWORKS = (
    f"By default (--skeleton), networks have 16 channels and {CELLS} cells. kappa and M are those of the kernel of one "
    "batch, as medians over seeds, which draw weights and images. Fewer images than the paper's 64 make kappa lower. "
    "The paper does not print the operations of its widest and deepest cells."
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
    """Return the genotype in which every node reads the two states before it: its width is 1.5 and its depth 5."""
    return _of_one_cell(tuple((EVERYWHERE, source) for node in range(NODES) for source in (node, 1 + node)))


def _of_one_cell(edges: tuple[tuple[str, int], ...]) -> Genotype:
    return Genotype(Cell(edges), Cell(edges))


def cells() -> dict[str, Genotype]:
    """Return the genotypes to measure by title."""
    published = {title: DARTS().parse(text) for title, text in _PUBLISHED.items()}
    return published | {WIDE: widest(), DEEP: deepest()}


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
            _known("width, in c", title, width(genotype.normal), published(title, "width")),
            _known("depth", title, depth(genotype.normal), published(title, "depth")),
            _median(lab, "kappa", title, found.kappa[place], published(title, "kappa")),
            _median(lab, "M, Trace", title, found.m[place], published(title, "Trace")),
        ]
    return Findings(tuple(lines))


def published(title: str, column: str) -> Published | None:
    """Return the published figure of a cell."""
    row = PUBLISHED_AS.get(title, title)
    return TABLE2.at(row, column) if row in TABLE2.rows else None


def _known(what: str, on: str, value: float, in_paper: Published | None) -> Finding:
    return Finding(what, on, Estimate(value, value, value), in_paper, EXACT, "by counting")


def _median(lab: Lab, what: str, on: str, values: Numbers, in_paper: Published | None) -> Finding:
    known = values[np.isfinite(values)]
    note = f"{len(known)} of {len(values)} seeds"
    if 0 < len(known) < FEWEST:
        note += f", median {np.median(known):.4g}"
    ours = lab.estimate(lambda column: float(np.median(column)), values)
    return Finding(what, on, ours, in_paper, KERNEL, note)


hnas_table2 = Experiment(
    "hnas-table2",
    (TABLE2,),
    "width and depth of cells of the DARTS space, and the tangent kernel of their networks",
    (),
    samples=64,
    run=_table2,
    remarks=(CONVENTION, NETWORKS),
    seeds=10,
    sampled=("images",),
)
