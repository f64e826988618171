"""Features of cells with an operation on each edge of four nodes: NAS-Bench-201 and TransNAS-Bench-101-micro.

The graph features of GRAF (Kadlecová et al., ICML 2024), for every non-empty set S of operations:

    op_count(op)     edges with the operation
    min_path(S)      edges on the shortest path from input to output with operations of S only; 5 without such a path
    max_path(S)      edges on the longest such path; 0 without one
    out_degree(S)    edges of S that leave the input
    in_degree(S)     edges of S that enter the output
    mean_degree(S)   edges of S for each node

GRAF calls the degree of the input `in_degree`, that of the output `out_degree`, and has the mean twice. Added to them,
because only what lies on a path without `none` has an effect:

    live_count(op)   edges with the operation on such paths
    paths            the number of such paths
    paths(S)         those with operations of S only
    conv_depth       the largest number of convolutions on such a path
    mean_conv_depth  the mean number of convolutions on such paths
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from firstlight.predict.features.paths import Columns, Paths, Whole, subsets
from firstlight.spaces.cells import EDGES
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.transnas.space import NAMES, MicroCell

NONE = "none"
# The four ways from input to output, as places in `EDGES`
WAYS = tuple(
    tuple(EDGES.index((target, source)) for source, target in way)
    for way in (((0, 3),), ((0, 1), (1, 3)), ((0, 2), (2, 3)), ((0, 1), (1, 2), (2, 3)))
)
LEAVING = [place for place, (_, source) in enumerate(EDGES) if source == 0]
ENTERING = [place for place, (target, _) in enumerate(EDGES) if target == 3]
NODES = 4


def cell201_features(cells: Sequence[Cell201]) -> pd.DataFrame:
    """Return the features of cells of NAS-Bench-201, a row for each."""
    codes = {name: number for number, name in enumerate(OPERATIONS)}
    return _features([[codes[name] for name in cell.operations] for cell in cells], OPERATIONS)


def micro_features(cells: Sequence[MicroCell]) -> pd.DataFrame:
    """Return the features of cells of TransNAS-Bench-101-micro, a row for each."""
    return _features([cell.operations for cell in cells], NAMES)


def _features(codes: Sequence[Sequence[int]], names: Sequence[str]) -> pd.DataFrame:
    numbers = np.array(codes, dtype=np.int64).reshape(len(codes), len(EDGES))
    bits = 1 << numbers
    kinds = np.stack([np.bitwise_or.reduce(bits[:, way], axis=1) for way in map(list, WAYS)], axis=1)
    paths = Paths(kinds, np.broadcast_to([len(way) for way in WAYS], kinds.shape).astype(np.int64))
    sets = list(subsets(names))
    columns: Columns = {f"op_count({name})": (numbers == code).sum(axis=1) for code, name in enumerate(names)}
    columns |= {f"min_path({text})": paths.shortest(allowed, NODES + 1) for text, allowed in sets}
    columns |= {f"max_path({text})": paths.longest(allowed) for text, allowed in sets}
    for degree, places, share in (("out", LEAVING, 1), ("in", ENTERING, 1), ("mean", range(len(EDGES)), NODES)):
        columns |= {
            f"{degree}_degree({text})": ((bits[:, list(places)] & allowed) > 0).sum(axis=1) / share
            for text, allowed in sets
        }
    columns |= _live(numbers, paths, names)
    return pd.DataFrame(columns, dtype=float)


def _live(numbers: Whole, paths: Paths, names: Sequence[str]) -> Columns:
    """Return features of the paths without `none`."""
    alive = (1 << len(names)) - 1 - (1 << names.index(NONE))
    of_path = paths.within(alive)
    on_path = np.zeros((len(WAYS), len(EDGES)), dtype=bool)
    for row, way in zip(on_path, WAYS, strict=True):
        row[list(way)] = True
    used = (of_path[:, :, None] & on_path).any(axis=1)
    columns: Columns = {
        f"live_count({name})": (used & (numbers == code)).sum(axis=1) for code, name in enumerate(names) if name != NONE
    }
    columns["paths"] = paths.count(alive)
    columns |= {
        f"paths({text})": paths.count(allowed) for text, allowed in subsets(names) if allowed & alive == allowed
    }
    is_conv = np.isin(numbers, [code for code, name in enumerate(names) if "conv" in name])
    convs = (is_conv[:, None, :] & on_path).sum(axis=2) * of_path
    columns["conv_depth"] = convs.max(axis=1)
    columns["mean_conv_depth"] = convs.sum(axis=1) / np.maximum(of_path.sum(axis=1), 1)
    return columns
