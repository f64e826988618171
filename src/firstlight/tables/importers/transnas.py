"""TransNAS-Bench-101: a file of torch.save with both spaces and seven tasks.

The file holds `data`, {space: {architecture: {task: results}}}, and results have
    total_epochs  the number of epochs
    metrics       {'split_metric': [the value after each epoch]}
with the splits train, valid and test. top1 and acc are accuracies in percent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from firstlight.core.events import Callback, Event
from firstlight.tables.importers.base import Importer, layout_of
from firstlight.tables.importers.unpickling import read_pickle

SPLITS = {"train": "train", "valid": "val", "test": "test"}
_ACCURACIES = ("top1", "acc")
# Metrics for which higher is better, so that the best epoch is known
_HIGHER_IS_BETTER = (*_ACCURACIES, "top5", "mIoU", "ssim", "neg_loss")


def read_transnas(space: str, source: Path, callback: Callback) -> pd.DataFrame:
    """Return one row for each architecture of a space."""
    rows = []
    with layout_of("TransNAS-Bench-101", str(source)):
        architectures = read_pickle(source)["data"][space]
        for done, (text, by_task) in enumerate(architectures.items(), start=1):
            figures = (item for task, results in by_task.items() for item in _figures(task, results))
            rows.append({"architecture": text} | dict(figures))
            callback(Event("reading", done, len(architectures)))
    return pd.DataFrame(rows, columns=None if rows else ["architecture"])


def _figures(task: str, results: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield columns and values: the last epoch of every metric, and the best epoch of the validation metrics."""
    epochs = int(results["total_epochs"])
    for name, values in results["metrics"].items():
        split, _, figure = name.partition("_")
        if split not in SPLITS:
            continue  # such as time_elapsed
        column = column_name(task, SPLITS[split], figure)
        yield f"{column}_{epochs}", float(values[epochs - 1])
        if split == "valid" and figure in _HIGHER_IS_BETTER:
            yield f"{column}_best", float(max(values))


def column_name(task: str, split: str, figure: str) -> str:
    """Return the name of a column without the epochs; accuracies are not named."""
    return f"{task}_{split}" if figure in _ACCURACIES else f"{task}_{split}_{figure}"


_SOURCE = "transnas-bench_v10141024.pth"
transnas_micro = Importer("transnas_micro", "TransNAS-Bench-101, cells", _SOURCE, partial(read_transnas, "micro"))
transnas_macro = Importer("transnas_macro", "TransNAS-Bench-101, skeletons", _SOURCE, partial(read_transnas, "macro"))
