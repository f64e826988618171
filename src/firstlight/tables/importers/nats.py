"""NATS-Bench, and NAS-Bench-201 before it: per-architecture pickles, or all of them in one.

Each architecture is a dictionary from kinds of training ('12' and '200', '01', '12' and '90' in the size
space, 'less' and 'full' in the older files) to
    arch_str      the architecture's text
    all_results   {(data set, seed): trial}
and each trial has
    epochs        the number of epochs of the training
    train_acc1es  {epoch from 0: accuracy on the training set in percent}
    eval_acc1es   {'set@epoch': accuracy in percent}
The whole benchmark in one file keeps these dictionaries under `arch2infos`, by index. Trials that differ in their seed
are averaged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from firstlight.core.errors import BenchmarkFileError
from firstlight.core.events import Callback, Event
from firstlight.tables.importers.base import Importer, layout_of
from firstlight.tables.importers.unpickling import read_pickle

# The columns of the official data sets and their parts. 'cifar10-valid' is trained on half of CIFAR-10's training
# images and validated on the other half. 'ori-test' of the last two is omitted: it is validation and test set together.
COLUMNS = {
    "cifar10-valid": {"train": "cifar10valid_train", "x-valid": "cifar10_val", "ori-test": "cifar10valid_test"},
    "cifar10": {"train": "cifar10_train", "ori-test": "cifar10_test"},
    "cifar100": {"train": "cifar100_train", "x-valid": "cifar100_val", "x-test": "cifar100_test"},
    "ImageNet16-120": {"train": "imagenet16_train", "x-valid": "imagenet16_val", "x-test": "imagenet16_test"},
}
_ONE_ARCHITECTURE = re.compile(r"\d+(\.pickle\.pbz2|-FULL\.pth)")


def read_nats(source: Path, callback: Callback) -> pd.DataFrame:
    """Return one row for each architecture, in the order of the benchmark; reads a folder file by file."""
    rows = []
    for where, results in _architectures(source, callback):
        with layout_of("NATS-Bench or NAS-Bench-201", where):
            rows.append(_row(results))
    if not any(len(row) > 1 for row in rows):
        raise BenchmarkFileError(f"{source} has no accuracy on any of {', '.join(COLUMNS)}.")
    return pd.DataFrame(rows)


def _architectures(source: Path, callback: Callback) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the origin of each architecture, and its results by kind of training."""
    if source.is_dir():
        files = sorted(path for path in source.iterdir() if _ONE_ARCHITECTURE.fullmatch(path.name))
        if not files:
            raise BenchmarkFileError(f"The folder {source} has no files such as 000000.pickle.pbz2 or 000000-FULL.pth.")
        for done, path in enumerate(files, start=1):
            yield str(path), read_pickle(path)
            callback(Event("reading", done, len(files)))
        return
    if source.suffix == ".tar":
        raise BenchmarkFileError(f"{source} is an archive. Unpack it with `tar xf`, and give the folder.")
    benchmark = read_pickle(source)
    with layout_of("NATS-Bench or NAS-Bench-201", str(source)):
        by_index = dict(benchmark["arch2infos"])
        indices = sorted(by_index)
    for done, index in enumerate(indices, start=1):
        yield f"{source}, architecture {index},", by_index.pop(index)
        callback(Event("reading", done, len(indices)))


def _row(by_training: dict[str, Any]) -> dict[str, Any]:
    (text,) = {results["arch_str"] for results in by_training.values()}
    values: defaultdict[str, list[float]] = defaultdict(list)
    for results in by_training.values():
        for (dataset, _seed), trial in results["all_results"].items():
            for column, value in _figures(trial, COLUMNS.get(dataset, {})):
                values[column].append(value)
    return {"architecture": text} | {column: fmean(trials) for column, trials in values.items()}


def _figures(trial: dict[str, Any], columns: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield column and value of each set on which the trial was measured after its last epoch."""
    epochs = int(trial["epochs"])
    for name, column in columns.items():
        if name == "train":
            value = trial["train_acc1es"][epochs - 1]
        else:
            value = trial["eval_acc1es"].get(f"{name}@{epochs - 1}")
        if value is not None:
            yield f"{column}_{epochs}", float(value)


nats = Importer(
    "nats",
    "NATS-Bench (both spaces) and NAS-Bench-201",
    "the unpacked folder NATS-tss-v1_0-3ffb9-simple (or sss), a single .pickle.pbz2, or NAS-Bench-201-v1_1-096897.pth",
    read_nats,
)
