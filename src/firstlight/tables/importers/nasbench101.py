"""NAS-Bench-101: a TFRecord file with three trainings of every cell for 108, or for 4, 12, 36 and 108 epochs.

Each record is a JSON list: the cell's hash, the number of epochs, its matrix row by row in 0 and 1, its operations
separated by commas from `input` to `output`, and in base64 a `ModelMetrics` message:
    1  the measurements before, in the middle of and after training, each a message:
       2  seconds of training    3, 4, 5  accuracy on training, validation and test set, as fractions
    2  the number of trainable parameters
"""

from __future__ import annotations

import base64
import json
from array import array
from pathlib import Path

import pandas as pd

from firstlight.core.errors import BenchmarkFileError
from firstlight.core.events import Callback
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.tables.importers.base import Importer, layout_of
from firstlight.tables.importers.protobuf import read_fields
from firstlight.tables.importers.tfrecord import read_records

_MEASUREMENT, _PARAMETERS = 1, 2
_FIGURES = {2: "cifar10_train_seconds", 3: "cifar10_train", 4: "cifar10_val", 5: "cifar10_test"}
_SECONDS = 2


def read_nasbench101(source: Path, callback: Callback) -> pd.DataFrame:
    """Return one row for each cell: the mean of its trainings after the last epoch, with accuracies in percent."""
    cells: dict[str, int] = {}
    params = array("q")
    trainings = {name: array("d") for name in ("cell", "epochs", *_FIGURES.values())}
    for number, record in enumerate(read_records(source, callback), start=1):
        with layout_of("NAS-Bench-101", f"Record {number} of {source}"):
            _hash, epochs, adjacency, operations, metrics = json.loads(record)
            text = str(Cell101.from_matrix(adjacency, _inner(operations)))
            parameters, final = _read_metrics(base64.b64decode(metrics, validate=True))
            cell = cells.setdefault(text, len(cells))
            if cell == len(params):
                params.append(parameters)
            trainings["cell"].append(cell)
            trainings["epochs"].append(int(epochs))
            for field, name in _FIGURES.items():
                trainings[name].append(final[field] if field == _SECONDS else 100 * final[field])
    if not cells:
        raise BenchmarkFileError(f"{source} has no records.")
    means = pd.DataFrame(trainings).pivot_table(index="cell", columns="epochs", aggfunc="mean")
    means.columns = means.columns.map(lambda column: f"{column[0]}_{column[1]:g}")
    means.insert(0, "architecture", list(cells))
    return means.assign(params=list(params))


def _inner(operations: str) -> list[str]:
    first, *inner, last = operations.split(",")
    if (first, last) != ("input", "output"):
        raise ValueError(f"operations {operations!r} do not lead from input to output")
    return [name.removesuffix("-bn-relu") for name in inner]


def _read_metrics(message: bytes) -> tuple[int, dict[int, float]]:
    """Return the number of parameters, and the fields of the last of three measurements."""
    fields = list(read_fields(message))
    (parameters,) = (value for number, value in fields if number == _PARAMETERS)
    _before, _middle, after, *_ = (value for number, value in fields if number == _MEASUREMENT)
    if not isinstance(after, bytes):
        raise TypeError("a measurement is not a message")
    final = {number: value for number, value in read_fields(after) if isinstance(value, float)}
    return int(parameters), {field: final[field] for field in _FIGURES}


nasbench101 = Importer(
    "nasbench101",
    "NAS-Bench-101",
    "nasbench_only108.tfrecord or nasbench_full.tfrecord",
    read_nasbench101,
)
