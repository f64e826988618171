"""Features of genotypes of the DARTS space.

The graph features of GRAF (Kadlecová et al., ICML 2024) of each cell, for every non-empty set S of operations:

    op_count(op)       edges with the operation
    max_path_1(S)      edges on the longest path from the output of the cell before the last to that of this cell, with
                       operations of S only; the last edge, to the output, is always allowed; 0 without such a path
    max_path_2(S)      the same from the output of the last cell
    out_degree_1(S)    edges of S that leave the first of these inputs
    out_degree_2(S)    the same for the second
    mean_degree(S)     edges of S for each node

Added to them are the numbers of paths, and the mean depth of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from firstlight.predict.features.paths import Columns, Edge, Paths, paths_between, subsets
from firstlight.spaces.darts.genotypes import CHOICES, Cell, Genotype

BITS = {name: 1 << place for place, name in enumerate(CHOICES)}
# The bit of operations of other spaces, which genotypes may have; `none` is not an edge
OTHER = 1 << len(CHOICES)
NONE = "none"


def genotype_features(genotypes: Sequence[Genotype]) -> pd.DataFrame:
    """Return the features of genotypes, a row for each."""
    columns: Columns = {}
    for kind in ("normal", "reduce"):
        cells = [getattr(genotype, kind) for genotype in genotypes]
        columns |= {f"{kind} {name}": values for name, values in _cell_features(cells).items()}
    return pd.DataFrame(columns, dtype=float)


def _cell_features(cells: Sequence[Cell]) -> Columns:
    most = max((len(cell.edges) for cell in cells), default=0)
    kinds = np.zeros((len(cells), most), dtype=np.int64)  # 0 for no edge
    sources = np.full((len(cells), most), -1, dtype=np.int64)
    for number, cell in enumerate(cells):
        kinds[number, : len(cell.edges)] = [0 if name == NONE else BITS.get(name, OTHER) for name, _ in cell.edges]
        sources[number, : len(cell.edges)] = [source for _, source in cell.edges]
    sets = list(subsets(CHOICES))
    nodes = np.array([cell.nodes + 3 for cell in cells])  # with both inputs and the output
    columns: Columns = {f"op_count({name})": (kinds == bit).sum(axis=1) for name, bit in BITS.items()}
    columns["op_count(other)"] = (kinds == OTHER).sum(axis=1)
    for state in (0, 1):
        paths = Paths.of(paths_between(_edges(cell), state, cell.nodes + 2) for cell in cells)
        columns[f"paths_{state + 1}"] = paths.count(-1)
        columns |= {f"max_path_{state + 1}({text})": paths.longest(allowed) for text, allowed in sets}
        leaving = sources == state
        columns |= {
            f"out_degree_{state + 1}({text})": (leaving & ((kinds & allowed) > 0)).sum(axis=1) for text, allowed in sets
        }
    columns |= {f"mean_degree({text})": ((kinds & allowed) > 0).sum(axis=1) / nodes for text, allowed in sets}
    columns["mean_node_depth"] = np.array([np.mean(_depths(cell)) for cell in cells])
    return columns


def _edges(cell: Cell) -> Iterator[Edge]:
    """Yield the edges, and those to the output, which have no operation."""
    for place, (name, source) in enumerate(cell.edges):
        if name != NONE:
            yield source, 2 + place // 2, BITS.get(name, OTHER)
    for node in cell.concat:
        yield node, cell.nodes + 2, 0


def _depths(cell: Cell) -> list[int]:
    """Return the length of the longest path from an input to each node."""
    depths = [0, 0]
    for node in range(cell.nodes):
        depths.append(1 + max(depths[source] for _, source in cell.edges_of(node)))
    return depths[2:]
