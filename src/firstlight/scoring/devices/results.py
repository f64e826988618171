"""Measured latencies of networks, from which a model of a device is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.core.errors import DataError, FirstlightError, MissingFileError, UnknownNameError
from firstlight.options import read_skeleton
from firstlight.probe.graph import Graph
from firstlight.scoring.devices.features import features_of
from firstlight.scoring.devices.fitting import check_enough, fit_device
from firstlight.scoring.devices.model import DeviceModel
from firstlight.spaces import SPACES

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("space", "architecture", "milliseconds")
SKELETON = "skeleton"
# How many faulty rows an error lists
SHOWN = 5


def fit_results(path: Path, name: str, title: str = "") -> DeviceModel:
    """Fit a model to a file of measured networks.

    Args:
        path: A CSV file with the columns space, architecture and milliseconds, and optionally skeleton, such as
            channels=8,cells=2.
        name: Name of the device.
        title: What it is; by default its name.

    Raises:
        DataError: If the file cannot be read, lacks columns, or has rows without a latency.
        TooFewError: If it has fewer than 20 networks.
    """
    rows = _read(path)
    check_enough(len(rows))
    both = [_graphs(number, row) for number, row in enumerate(rows.to_dict("records"), start=2)]
    simplified, as_run = (
        np.array([list(features_of(graphs[kind]).values()) for graphs in both]).reshape(len(both), -1)
        for kind in (0, 1)
    )
    return fit_device(
        name,
        title or name,
        f"{path.name}, {len(rows)} networks of {', '.join(sorted(set(rows['space'])))}",
        simplified,
        as_run,
        rows["milliseconds"].to_numpy(float),
        kinds={operation.kind for graphs in both for graph in graphs for operation in graph.operations},
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise MissingFileError(f"There is no file {str(path)!r}.")
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError, UnicodeError) as error:  # those of pandas are ValueErrors
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    missing = [column for column in COLUMNS if column not in rows]
    if missing:
        raise DataError(
            f"{path} has no column {missing[0]!r}. It needs {', '.join(COLUMNS)}, and may have {SKELETON}; it has "
            f"{', '.join(map(str, rows.columns))}."
        )
    milliseconds = pd.to_numeric(rows["milliseconds"], errors="coerce")
    faulty = [place + 2 for place, value in enumerate(milliseconds) if not 0 < value < np.inf]
    if faulty:
        shown = ", ".join(map(str, faulty[:SHOWN])) + ", ..." * (len(faulty) > SHOWN)
        raise DataError(
            f"{path} has no positive number of milliseconds in {len(faulty)} of {len(rows)} rows (lines {shown}). "
            "Measure these networks again, or delete the rows."
        )
    return rows.assign(milliseconds=milliseconds)


def _graphs(line: int, row: Mapping[Any, str]) -> tuple[Graph, Graph]:
    """Return a network as formats simplify it, and as PyTorch runs it."""
    try:
        if not SPACES.is_built_in(row["space"]):  # a file must not name modules to import
            raise UnknownNameError("built-in space", row["space"], SPACES)
        space = SPACES[row["space"]]
        architecture = space.read(row["architecture"])
        skeleton = space.skeleton(**dict(read_skeleton(row.get(SKELETON, ""))))
        return space.graph(architecture, skeleton), space.graph(architecture, skeleton, simplified=False)
    except FirstlightError as error:
        raise DataError(f"Line {line} names no network that can be built: {error}") from error
