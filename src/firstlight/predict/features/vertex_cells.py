"""Features of cells with an operation at each vertex: NAS-Bench-101 and NAS-Bench-1Shot1.

The graph features of GRAF (Kadlecová et al., ICML 2024) of the pruned cell, for every non-empty set S of operations:

    op_count(op)         vertices with the operation
    min_path(S)          edges on the shortest path from input to output through vertices of S only; the number of
                         vertices without such a path
    max_path(S)          edges on the longest such path; 0 without one
    in_degree(S)         vertices of S that lead to the output
    out_degree(S)        vertices of S that the input leads to
    mean_in_degree(S)    edges that leave vertices of S, for each vertex
    mean_out_degree(S)   edges that enter vertices of S, for each vertex

Added to them are the numbers of vertices, of edges, and of paths within each S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from firstlight.predict.features.paths import Columns, Edge, Paths, paths_between, subsets
from firstlight.spaces.nasbench101.cell import MOST_VERTICES, OPERATIONS, Cell101


def cell101_features(cells: Sequence[Cell101]) -> pd.DataFrame:
    """Return the features of cells, a row for each.

    Raises:
        DataError: If a cell has no path from input to output.
    """
    pruned = [cell.pruned() for cell in cells]
    # edges[n, s, v] is 1 for an edge from s to v; kinds[n, v] is the bit of the operation, 0 for input and output
    edges = np.zeros((len(pruned), MOST_VERTICES, MOST_VERTICES), dtype=np.int64)
    kinds = np.zeros((len(pruned), MOST_VERTICES), dtype=np.int64)
    for number, cell in enumerate(pruned):
        kinds[number, 1 : 1 + len(cell.operations)] = [1 << OPERATIONS.index(name) for name in cell.operations]
        for vertex, sources in enumerate(cell.sources, start=1):
            edges[number, list(sources), vertex] = 1
    vertices = np.array([len(cell.sources) + 1 for cell in pruned], dtype=np.int64)
    every = np.arange(len(pruned))
    paths = Paths.of(paths_between(_edges(cell), 0, len(cell.sources)) for cell in pruned)
    columns: Columns = {f"op_count({name})": (kinds == 1 << place).sum(axis=1) for place, name in enumerate(OPERATIONS)}
    columns |= {"vertices": vertices, "edges": edges.sum(axis=(1, 2)), "paths": paths.count(-1)}
    sets = list(subsets(OPERATIONS))
    columns |= {f"min_path({text})": paths.shortest(allowed, vertices) for text, allowed in sets}
    columns |= {f"max_path({text})": paths.longest(allowed) for text, allowed in sets}
    columns |= {f"paths({text})": paths.count(allowed) for text, allowed in sets}
    leaving, entering = edges.sum(axis=2), edges.sum(axis=1)
    to_output, from_input = edges[every, :, vertices - 1], edges[:, 0, :]
    for text, allowed in sets:
        chosen = (kinds & allowed) > 0
        columns[f"in_degree({text})"] = (to_output * chosen).sum(axis=1)
        columns[f"out_degree({text})"] = (from_input * chosen).sum(axis=1)
        columns[f"mean_in_degree({text})"] = (leaving * chosen).sum(axis=1) / vertices
        columns[f"mean_out_degree({text})"] = (entering * chosen).sum(axis=1) / vertices
    return pd.DataFrame(columns, dtype=float)


def _edges(cell: Cell101) -> Iterator[Edge]:
    """Yield the edges, each with the operation of the vertex that it enters."""
    kinds = [*(1 << OPERATIONS.index(name) for name in cell.operations), 0]
    for vertex, (own, sources) in enumerate(zip(kinds, cell.sources, strict=True), start=1):
        for source in sources:
            yield source, vertex, own
