"""`firstlight export` as a person and as a machine use it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import CELL, SMALL, firstlight

SHAPE = ["--skeleton", f"{SMALL[1]},input_shape=3x8x8"]


def test_an_architecture_is_exported(tmp_path: Path) -> None:
    done = firstlight("export", "nasbench201", CELL, "-o", "out", *SHAPE, "--seed", "2", "--json", folder=tmp_path)
    known = json.loads(done.stdout)
    assert known["files"] == ["architecture.json", "network.py", "weights.safetensors"]
    assert (known["seed"], known["directory"]) == (2, "out")
    refused = firstlight("export", "nasbench201", CELL, "-o", "out", *SHAPE, folder=tmp_path, code=1)
    assert "--overwrite" in refused.stderr
    again = ["--overwrite", "--format", "json,safetensors"]
    shown = firstlight("export", "nasbench201", CELL, "-o", "out", *SHAPE, *again, folder=tmp_path).stdout
    assert shown.startswith("Not trained: the exported network has random weights")
    assert "initialized with seed 0" in shown
    assert shown.count(CELL) == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["architecture.json", "weights.safetensors"]


def test_a_run_is_exported(tmp_path: Path) -> None:
    some = ["--samples", "2", "--proxy", "params", "--workers", "0", "--out", "run", "--json"]
    found = json.loads(firstlight("search", "nasbench201", *some, *SMALL, folder=tmp_path).stdout)
    known = firstlight("export", "run", "-o", "out", "--format", "json", "--json", folder=tmp_path)
    assert json.loads(known.stdout)["architecture"] == found["best"]["architecture"]
    refused = firstlight("export", "darts", "run", "-o", "other", folder=tmp_path, code=1)
    assert "is 'nasbench201', not 'darts'" in refused.stderr


def test_what_is_missing_or_wrong_is_told(tmp_path: Path) -> None:
    assert "-o FOLDER" in firstlight("export", "nasbench201", CELL, folder=tmp_path, code=1).stderr
    assert "not the folder of a run" in firstlight("export", "nowhere", "-o", "out", folder=tmp_path, code=1).stderr
    wrong = firstlight("export", "nasbench201", CELL, "-o", "out", "--format", "pickle", folder=tmp_path, code=1)
    assert "json, onnx, safetensors, source" in wrong.stderr
    assert "For example:\nfirstlight export" in firstlight("export", "--help").stdout
