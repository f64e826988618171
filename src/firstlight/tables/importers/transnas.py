"""TransNAS-Bench-101: one file of torch.save with both of its spaces and seven tasks.

What is read is `data`, {space: {architecture: {task: results}}}, and of the results
    total_epochs  how many epochs were trained
    metrics       {'split_figure': [the figure after each epoch]}
with the splits train, valid and test. top1 and acc are accuracies in percent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from firstlight.tables.importers.base import Importer, Progress, layout_of
from firstlight.tables.importers.unpickling import read_pickle

SPLITS = {"train": "train", "valid": "val", "test": "test"}
_ACCURACIES = ("top1", "acc")
# Figures that are the better the higher, so that the best epoch is known; a loss is not among them
_HIGHER_IS_BETTER = (*_ACCURACIES, "top5", "mIoU", "ssim", "neg_loss")


def read_transnas(space: str, source: Path, progress: Progress) -> pd.DataFrame:
    """One row for each architecture of one space."""
    rows = []
    with layout_of("TransNAS-Bench-101", str(source)):
        architectures = read_pickle(source)["data"][space]
        for done, (text, by_task) in enumerate(architectures.items(), start=1):
            figures = (item for task, results in by_task.items() for item in _figures(task, results))
            rows.append({"architecture": text} | dict(figures))
            progress(done, len(architectures))
    return pd.DataFrame(rows, columns=None if rows else ["architecture"])


def _figures(task: str, results: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Columns and values: the last epoch of every figure, and the best epoch of those of the validation set."""
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
    """Without the epochs; an accuracy goes without saying."""
    return f"{task}_{split}" if figure in _ACCURACIES else f"{task}_{split}_{figure}"


_SOURCE = "transnas-bench_v10141024.pth"
transnas_micro = Importer("transnas_micro", "TransNAS-Bench-101, cells", _SOURCE, partial(read_transnas, "micro"))
transnas_macro = Importer("transnas_macro", "TransNAS-Bench-101, skeletons", _SOURCE, partial(read_transnas, "macro"))
