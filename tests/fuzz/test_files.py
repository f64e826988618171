"""Every file that Firstlight reads, damaged: a value or an error that helps, and nothing of the file is run."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import save
from tests.fuzz.cases import CASES
from tests.fuzz.checking import Target
from tests.fuzz.strategies import damaged, damaged_bytes, damaged_json, npz, zipped
from tests.tables.importers.files import tfrecords

from firstlight.cli.settings_file import read_settings_file
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepared import FORM, METADATA, open_clicks
from firstlight.data.clicks.raw import BadRows, read_rows
from firstlight.data.images import has_test_part, read_samples, read_test_samples
from firstlight.export.exporter import export
from firstlight.export.runs import read_run
from firstlight.export.weights import load_weights
from firstlight.probe.cost import Cost
from firstlight.scoring.devices.model import find_device
from firstlight.storage.store import STORE_NAME, Store, Trial
from firstlight.storage.tensor_files import read_about, read_tensors
from firstlight.tables.importers import KINDS, import_table
from firstlight.tables.importers.protobuf import read_fields
from firstlight.tables.table import load_table
from firstlight.views import plot_agreement, plot_bars, plot_curves, plot_scatter, save_figure
from firstlight.views.pages.search import write_report

CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
RESULT = {
    "settings": {"space": "nasbench201", "skeleton": "cells=1,channels=4", "seed": 0, "proxy": "params"},
    "best": {"architecture": CELL},
}

STATISTICS = {"spearman": 0.5, "spearman_ci": [0.1, 0.9]}
STUDY = {"targets": {"accuracy": {"best": "params", "proxies": {"params": STATISTICS, "accuracy": STATISTICS}}}}
CLICKS = {"form": FORM, "layout": "criteo", "numbers": ["I1"], "tables": [5], "rows": {"train": 1}, "fingerprint": "f"}


def _image() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (6, 5), "red").save(file, "png")
    return file.getvalue()


def _parquet() -> bytes:
    file = io.BytesIO()
    pd.DataFrame({"architecture": [CELL], "cifar10_test_200": [90.0]}).to_parquet(file)
    return file.getvalue()


def _prepared(facts: str) -> bytes:
    file = io.BytesIO()
    table = pa.table({"label": [0, 1]})
    pq.write_table(table.replace_schema_metadata({METADATA: facts.encode("utf-8", "surrogatepass")}), file)
    return file.getvalue()


def _store(folder: Path) -> bytes:
    path = folder / "whole.db"
    with Store(path) as store:
        run = store.begin_run({"space": "nasbench201", "proxy": "params", "algorithm": "random"}, "1.0", 0)
        store.add_trial(run, Trial(CELL, Cost(1, 2), 0.5, 1.0))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    return path.read_bytes()


def _images(folder: Path, content: bytes) -> None:
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True, exist_ok=True)
        (folder / "images" / name / "1.png").write_bytes(content)
    samples = read_samples(f"folder:{folder / 'images'}@4")
    samples.images(np.array([0, 1]))


def _npz(folder: Path, content: bytes) -> None:
    path = folder / "data.npz"
    path.write_bytes(content)
    read_samples(f"npz:{path}@2").images(np.array([0]))
    if has_test_part(f"npz:{path}"):
        read_test_samples(f"npz:{path}")


def _log(folder: Path, content: bytes) -> None:
    path = folder / "log.txt"
    path.write_bytes(content)
    for treatment in ("stop", "skip"):
        for layout in LAYOUTS.values():
            list(read_rows(path, layout, BadRows(treatment)))


def _written(name: str, read: Callable[[Path], Any]) -> Callable[[Path, Any], Any]:
    def check(folder: Path, content: bytes | str) -> None:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        read(path)

    return check


def _result(path: Path) -> None:
    read_run(path.parent)
    export(path.parent, path.parent / "out", formats=("json",), overwrite=True)


def _tensors(path: Path) -> None:
    read_about(path)
    read_tensors(path)


def _weights(path: Path) -> None:
    load_weights(torch.nn.Linear(2, 1), path)


def _study(path: Path) -> None:
    """With scores of two proxies, one of which is called as a target."""
    scores = "architecture,accuracy,params,accuracy (score)\na,1,2,3\nb,2,1,nan\nc,3,3,1\n"
    (path.parent / "scores.csv").write_text(scores, encoding="utf-8")
    _draw_study(path)


def _scores(path: Path) -> None:
    (path.parent / "result.json").write_text(json.dumps(STUDY), encoding="utf-8")
    _draw_study(path)


def _draw_study(path: Path) -> None:
    for plot in (plot_scatter, plot_bars, plot_agreement):
        save_figure(plot(path.parent), path.parent / "figure.svg")


def _queries(path: Path) -> None:
    for against in ("queries", "seconds"):
        save_figure(plot_curves(path.parent, against=against), path.parent / "figure.svg")


def _any_store(path: Path) -> None:
    write_report(path.parent)


def readers(folder: Path) -> dict[str, tuple[Callable[[Path, Any], Any], Any]]:
    """For each kind of file, what reads it and damaged contents."""
    arrays = {"x": np.zeros((3, 1, 4, 4), np.uint8), "y": np.arange(3)}
    objects = {"x": np.array([{}, 1], dtype=object), "y": np.arange(2)}
    with_test = {f"{n}_{part}": a for n, a in arrays.items() for part in ("train", "test")}
    tensors = save({"weight": torch.zeros(1, 2), "bias": torch.zeros(1)}, {"firstlight": "{}"})
    table = f"architecture,cifar10_test_200\n{CELL},90.5\n"
    records = pickle.dumps({"data": {"micro": {}}, "meta": [1.5, b"x", "y"]})
    clicks = "\t".join(["1", *["3"] * 13, *["a"] * 26])
    packed = zipped({"archive/data.pkl": records, "archive/version": b"3"})
    return {
        "arrays of images (.npz)": (_npz, damaged_bytes(npz(arrays), npz(with_test), npz(objects), packed)),
        "image files": (_images, damaged_bytes(_image())),
        "tables (.csv)": (_written("table.csv", load_table), damaged(table, "ops,val_acc_108\n000000,1\n", "a\n")),
        "tables (.parquet)": (_written("table.parquet", load_table), damaged_bytes(_parquet())),
        **{
            f"benchmark files ({kind})": (
                _written("benchmark.pth", lambda path, kind=kind: import_table(kind, path)),
                damaged_bytes(records, packed, tfrecords([b"[1]"]), json.dumps({"a": 1}).encode(), table.encode()),
            )
            for kind in KINDS
        },
        "protocol buffers": (lambda _, content: _fields(content), damaged_bytes(b"\x0a\x03abc\x10\x05\x19" + bytes(8))),
        "logs of clicks": (_log, damaged(f"{clicks}\n{clicks}\n", "id,click,hour\n1,0,14102100\n").map(_encoded)),
        "prepared clicks": (
            _written("clicks.parquet", lambda path: open_clicks(f"clicks:{path}")),
            damaged_bytes(_parquet()) | damaged_json(CLICKS).map(_prepared),
        ),
        "tensors (.safetensors)": (
            _written("t.safetensors", lambda p: (read_about(p), read_tensors(p))),
            damaged_bytes(tensors),
        ),
        "weights (.safetensors)": (_written("w.safetensors", _weights), damaged_bytes(tensors)),
        "results (result.json)": (_written("result.json", _result), damaged_json(RESULT)),
        "models of devices (.json)": (
            _written("mine.json", lambda path: find_device(str(path))),
            damaged_json(find_device("raspi4").to_dict()),
        ),
        "studies (result.json)": (_written("result.json", _study), damaged_json(STUDY)),
        "studies (scores.csv)": (
            _written("scores.csv", _scores),
            damaged("architecture,accuracy,params,accuracy (score)\na,1,2,3\nb,2,1,nan\nc,3,3,1\n"),
        ),
        "comparisons (queries.csv)": (
            _written("queries.csv", _queries),
            damaged("method,seed,query,elapsed,best,accuracy\na,0,1,1.5,x,90\na,0,2,2.5,x,91\na,1,1,1,y,89\n"),
        ),
        "settings files": (
            _written("settings.toml", lambda path: read_settings_file(str(path))),
            damaged('samples = 500\nproxy = "dextr"\n', "samples = [1]\n", "[samples]\na = 1\n"),
        ),
        "stores": (_written(STORE_NAME, _any_store), damaged_bytes(_store(folder))),
    }


def _fields(content: bytes) -> None:
    with contextlib.suppress(ValueError):  # its callers name the file that it stands in
        list(read_fields(content))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


KINDS_OF_FILES = [
    *("arrays of images (.npz)", "image files", "tables (.csv)", "tables (.parquet)", "protocol buffers"),
    *("logs of clicks", "prepared clicks", "tensors (.safetensors)", "weights (.safetensors)", "results (result.json)"),
    *("studies (result.json)", "studies (scores.csv)", "comparisons (queries.csv)"),
    *("settings files", "stores", *(f"benchmark files ({kind})" for kind in KINDS)),
]


def try_out(name: str, folder: Path, cases: int) -> int:
    read, contents = readers(folder)[name]
    return Target(lambda content: read(folder, content), contents).try_out(cases)


@pytest.mark.parametrize("name", KINDS_OF_FILES)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    try_out(name, tmp_path, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS_OF_FILES)
def test_many_damaged_files(name: str, tmp_path: Path) -> None:
    print(f"{name}: {try_out(name, tmp_path, CASES)} cases")
