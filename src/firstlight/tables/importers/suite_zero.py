"""NAS-Bench-Suite-Zero: JSON files with zero-cost scores and the validation accuracy of many architectures.

A file belongs to one space and is named zc_SPACE.json. It holds {data set: {code: entry}}, in some versions under the
name of the space as one more key. A code is NASLib's tuple of numbers as text, or of pairs of numbers for
NAS-Bench-301. An entry has `val_accuracy`, and for each score a number or {'score': number, ...}; -1e8 is a score that
could not be computed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from firstlight.core.errors import BenchmarkFileError, ParseError
from firstlight.core.events import Callback, Event
from firstlight.spaces.darts.genotypes import CHOICES, NODES, Cell, Genotype, read_genotype
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.tables.importers.base import Importer, layout_of
from firstlight.tables.importers.transnas import column_name

_FAILED = -1e8
_OPERATIONS_101 = ("input", "output", "maxpool3x3", "conv1x1", "conv3x3")
# The metric that is called val_accuracy in the tasks of TransNAS-Bench-101 without an accuracy
_FIGURES = {"room_layout": "neg_loss", "normal": "ssim", "autoencoder": "ssim"}
_DATA_SETS = {"ImageNet16-120": "imagenet16"}


def read_suite_zero(source: Path, callback: Callback) -> pd.DataFrame:
    """Return one row for each architecture; the scores of a data set are columns such as cifar10_synflow."""
    with layout_of("NAS-Bench-Suite-Zero", str(source)):
        content = json.loads(source.read_bytes())
        space = next((name for name in content if name in _TEXTS), None)
        if space is None:
            space, by_dataset = _space_of(source), content
        else:
            by_dataset = content[space]
        rows: dict[str, dict[str, Any]] = {}
        for done, (dataset, entries) in enumerate(by_dataset.items(), start=1):
            for code, entry in entries.items():
                text = _TEXTS[space]([int(digits) for digits in re.findall(r"\d+", code)])
                rows.setdefault(text, {"architecture": text}).update(_figures(space, dataset, entry))
            callback(Event("reading", done, len(by_dataset)))
    return pd.DataFrame(list(rows.values()), columns=None if rows else ["architecture"])


def _space_of(source: Path) -> str:
    for space in _TEXTS:
        if source.name.startswith(f"zc_{space}"):
            return space
    raise BenchmarkFileError(
        f"{source} does not name its space. Keep the official file name, zc_SPACE.json; supported spaces: "
        f"{', '.join(_TEXTS)}."
    )


def _figures(space: str, dataset: str, entry: dict[str, Any]) -> dict[str, float]:
    dataset = _DATA_SETS.get(dataset, dataset)
    figures = {}
    for name, value in entry.items():
        if isinstance(value, dict):
            value = value["score"]
        if isinstance(value, str):
            continue  # the code again
        if name == "val_accuracy":
            name = column_name(dataset, "val", _FIGURES.get(dataset, "acc"))
            figures[f"{name}_{_EPOCHS[space]}"] = float(value)
        else:
            figures[f"{dataset}_{name}"] = math.nan if value == _FAILED else float(value)
    return figures


def _text_201(code: Sequence[int]) -> str:
    try:
        return str(Cell201.from_digits("".join(map(str, code))))
    except ParseError as error:
        raise ValueError(str(error)) from error


def _text_101(code: Sequence[int]) -> str:
    """Read a code: the matrix row by row, then the operation of every vertex."""
    vertices = math.isqrt(len(code))
    matrix, operations = code[: vertices**2], [_OPERATIONS_101[digit] for digit in code[vertices**2 :]]
    if operations[:1] != ["input"] or operations[-1:] != ["output"]:
        raise ValueError(f"the code {tuple(code)} does not lead from input to output")
    return str(Cell101.from_matrix("".join(map(str, matrix)), operations[1:-1]))


def _text_301(code: Sequence[int]) -> str:
    """Read a code: for each edge of the normal cell, then of the reduction cell, its source and its operation."""
    if len(code) != 8 * NODES:
        raise ValueError(f"the code {tuple(code)} does not have {8 * NODES} numbers")
    edges = [(CHOICES[operation], source) for source, operation in zip(code[::2], code[1::2], strict=True)]
    genotype = Genotype(Cell(tuple(edges[: 2 * NODES])), Cell(tuple(edges[2 * NODES :])))
    try:
        return str(read_genotype(str(genotype)))  # refuses sources that a node cannot have
    except ParseError as error:
        raise ValueError(str(error)) from error


def _text_micro(code: Sequence[int]) -> str:
    a, b, c, d, e, f = code
    return f"64-41414-{a}_{b}{c}_{d}{e}{f}"


def _text_macro(code: Sequence[int]) -> str:
    return f"64-{''.join(str(digit) for digit in code if digit)}-basic"  # shorter codes are padded with zeros


_TEXTS: dict[str, Callable[[Sequence[int]], str]] = {
    "nasbench101": _text_101,
    "nasbench201": _text_201,
    "nasbench301": _text_301,
    "transbench101_macro": _text_macro,
    "transbench101_micro": _text_micro,
}
# The values of TransNAS-Bench-101 are of the best epoch, the others of the last
_EPOCHS = {
    "nasbench101": "108",
    "nasbench201": "200",
    "nasbench301": "100",
    "transbench101_macro": "best",
    "transbench101_micro": "best",
}

suite_zero = Importer(
    "suite_zero",
    "NAS-Bench-Suite-Zero",
    "zc_nasbench101.json, zc_nasbench201.json, zc_nasbench301.json, zc_transbench101_micro.json or "
    "zc_transbench101_macro.json",
    read_suite_zero,
)
