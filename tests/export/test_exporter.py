"""Files that are all there or not at all, of the network that was asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.spaces.own import perceptron
from torch import nn

import firstlight
from firstlight.api.search import search
from firstlight.core.errors import DataError, SettingError, UnknownNameError, UnsupportedError
from firstlight.export import exporter
from firstlight.export.exporter import Export, export
from firstlight.spaces import SPACES
from firstlight.storage.outcome import TrainingResult

SPACE = SPACES["nasbench201"]
CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
OTHER = "|nor_conv_1x1~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
SMALL: dict[str, Any] = {"channels": 4, "cells": 1, "input_shape": (3, 8, 8)}


def written(out: Path, architecture: str = CELL, **options: Any) -> Export:
    return export(architecture, out, space="nasbench201", **{"skeleton": SMALL, "formats": ("json",)} | options)


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_describes_the_network(tmp_path: Path) -> None:
    done = written(tmp_path / "deep" / "out", formats=("safetensors", "json"), seed=3)
    assert listed(tmp_path / "deep" / "out") == ["architecture.json", "weights.safetensors"]
    assert listed(tmp_path / "deep") == ["out"]
    content = json.loads((tmp_path / "deep" / "out" / "architecture.json").read_text())
    skeleton = SPACE.skeleton(**SMALL)
    cost = SPACE.cost(SPACE.parse(CELL), skeleton)
    assert (content["space"], content["architecture"], content["seed"]) == ("nasbench201", CELL, 3)
    assert (content["params"], content["macs"]) == (cost.params, cost.macs)
    assert SPACE.skeleton(**content["skeleton"]) == skeleton
    assert content["weights"] == done.weights == "initialized with seed 3"
    weights = load_file(done.directory / "weights.safetensors")
    for name, value in SPACE.build(CELL, skeleton, seed=3).state_dict().items():
        assert torch.equal(weights[name], value)


def test_given_weights_are_used_in_every_format(tmp_path: Path) -> None:
    network = SPACE.build(CELL, SPACE.skeleton(**SMALL), seed=9)
    save_file(network.state_dict(), tmp_path / "mine.safetensors")
    done = written(tmp_path / "out", weights=tmp_path / "mine.safetensors", formats=("source", "safetensors"))
    weights = load_file(done.directory / "weights.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in network.state_dict().items())
    assert done.weights == "read from mine.safetensors"
    assert "read from mine.safetensors" in (done.directory / "network.py").read_text()


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file(SPACE.build(OTHER, SPACE.skeleton(**SMALL)).state_dict(), path)
    with pytest.raises(DataError, match=r"another network: body\.0\.edges\.0-1\.1\.weight is .*3, 3\).*leave out"):
        written(tmp_path / "out", weights=path)
    save_file(perceptron.build("width=4,depth=1,activation=relu").state_dict(), path)
    with pytest.raises(DataError, match=r"stem\.0\.weight is missing; .*; and \d+ more"):
        written(tmp_path / "out", weights=path)
    with pytest.raises(DataError, match="does not exist"):
        written(tmp_path / "out", weights=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(1)}, tmp_path / "pickle.pt")
    with pytest.raises(DataError, match=r"not a safetensors file.*can run code"):
        written(tmp_path / "out", weights=tmp_path / "pickle.pt")


def test_folders_are_replaced_only_if_asked_and_only_exports(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    written(out)  # an empty one is as good as none
    with pytest.raises(SettingError, match=r"contains architecture\.json.*--overwrite"):
        written(out)
    written(out, OTHER, overwrite=True)
    assert json.loads((out / "architecture.json").read_text())["architecture"] == OTHER
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(SettingError, match=r"thesis\.tex, which is not part"):
        written(out, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="is a file"):
        written(tmp_path / "file")
    assert listed(tmp_path) == ["file", "out"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_an_interrupted_export_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupted(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(exporter, "save_weights", interrupted)
    written(tmp_path / "out")
    with pytest.raises(interruption):
        written(tmp_path / "out", OTHER, formats=("json", "safetensors"), overwrite=True)
    assert listed(tmp_path) == ["out"]
    assert json.loads((tmp_path / "out" / "architecture.json").read_text())["architecture"] == CELL


def test_unknown_formats_are_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'sauce'. Did you mean 'source'.*json, onnx, safetensors, source"):
        written(tmp_path / "out", formats=("json", "sauce"))
    assert exporter.read_formats("json", onnx=True) == ("json", "onnx")
    assert exporter.read_formats("") == ("json", "source", "safetensors")


def test_onnx_gives_the_same_outputs_for_any_batch(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    done = written(tmp_path / "out", formats=("onnx",))
    assert done.difference is not None
    assert done.difference < 1e-5
    assert listed(tmp_path / "out") == ["network.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "out" / "network.onnx")
    network = SPACE.build(CELL, SPACE.skeleton(**SMALL)).eval()
    for size in (1, 5):
        inputs = torch.randn(size, 3, 8, 8)
        (given,) = session.run(None, {"input": inputs.numpy()})
        torch.testing.assert_close(torch.from_numpy(given), network(inputs), rtol=1e-4, atol=1e-6)


def test_onnx_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(exporter, "MOST_DIFFERENCE", -1.0)
    text = "width=4,depth=1,activation=relu"
    with pytest.raises(UnsupportedError, match="Leave out onnx"):
        export(text, tmp_path / "out", space=perceptron, formats=("onnx",))
    assert listed(tmp_path) == []


def run_folder(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    settings = {"space": "nasbench201", "skeleton": str(SPACE.skeleton(**SMALL)), "seed": 5} | changes
    (folder / "result.json").write_text(json.dumps({"settings": settings | {"architecture": CELL}}))
    return folder


def test_the_folder_of_a_training_brings_its_weights(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    done = export(run, tmp_path / "first", formats=("json",))
    assert (done.architecture, done.seed, done.weights) == (CELL, 5, "initialized with seed 5")
    network = SPACE.build(CELL, SPACE.skeleton(**SMALL), seed=1)
    save_file(network.state_dict(), run / "weights.safetensors")
    done = export(run, tmp_path / "second", formats=("safetensors",))
    given = load_file(done.directory / "weights.safetensors")["stem.0.weight"]
    assert torch.equal(given, network.state_dict()["stem.0.weight"])
    wider = export(run, tmp_path / "third", skeleton={"channels": 8}, formats=("json",))
    assert wider.skeleton == str(SPACE.skeleton(**SMALL | {"channels": 8}))
    assert wider.weights == "initialized with seed 5"


def test_folders_without_a_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"result\.json is missing.*resume"):
        export(tmp_path, tmp_path / "out")
    run = run_folder(tmp_path / "run")
    with pytest.raises(SettingError, match="is 'nasbench201', not 'darts'"):
        export(run, tmp_path / "out", space="darts")
    for damaged in ('{"settings": {}}', "[" * 5000, '{"settings": {"space": null, "skeleton": 1, "architecture": 2}}'):
        (run / "result.json").write_text(damaged)
        with pytest.raises(DataError, match="does not name a network"):
            export(run, tmp_path / "out")


@pytest.mark.parametrize("name", SPACES)
def test_the_text_of_a_skeleton_reads_back(name: str) -> None:
    from firstlight.export.runs import read_skeleton

    skeleton = SPACES[name].skeleton(classes=7)
    assert read_skeleton(SPACES[name], str(skeleton)) == skeleton


def test_a_search_can_be_exported(tmp_path: Path) -> None:
    result = search("nasbench201", proxy="params", samples=2, skeleton=SMALL, workers=0, out=tmp_path / "run")
    done = export(result, tmp_path / "out", formats=("safetensors",))
    built: nn.Module = result.build()
    weights = load_file(done.directory / "weights.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in built.state_dict().items())
    again = export(tmp_path / "run", tmp_path / "again", formats=("json",))
    assert (again.architecture, again.skeleton, again.seed) == (done.architecture, done.skeleton, done.seed)


def test_a_space_of_ones_own(tmp_path: Path) -> None:
    text = "width=4,depth=1,activation=gelu"
    done = export(text, tmp_path / "out", space=perceptron, skeleton={"input_shape": (3, 4, 4)})
    assert done.space == "perceptron"
    assert listed(tmp_path / "out") == ["architecture.json", "network.py", "weights.safetensors"]


def test_a_skeleton_that_was_tampered_with() -> None:
    from firstlight.export.runs import read_skeleton

    with pytest.raises(DataError, match=r"'channels=many' in .* is not a setting"):
        read_skeleton(SPACES["nasbench201"], "cells=2,channels=many")


def test_a_training_is_exported_from_memory(tmp_path: Path) -> None:
    trained = firstlight.train(
        "nasbench201", CELL, data="digits", epochs=1, data_samples=60, skeleton={"channels": 4, "cells": 1}
    )
    done = export(trained, tmp_path / "out", formats=("json", "source", "safetensors"))
    assert done.weights == "trained, 1 epoch"
    assert "Inputs: (image - mean)" in (done.directory / "network.py").read_text()
    weights = load_file(done.directory / "weights.safetensors")
    assert trained.model is not None
    assert all(torch.equal(weights[name], value) for name, value in trained.model.state_dict().items())
    fresh = export(trained, tmp_path / "fresh", seed=1, formats=("json",))
    assert (fresh.weights, fresh.inputs) == ("initialized with seed 1", {})
    failed = replace(trained, result=TrainingResult((), "failed", "It diverged."))
    with pytest.raises(DataError, match="The training failed: It diverged"):
        export(failed, tmp_path / "failed")


def test_what_is_neither_a_run_nor_an_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"not the folder of a run.*name the space"):
        export("nowhere", tmp_path / "out")
    with pytest.raises(DataError, match=r"result\.json is missing"):
        export(tmp_path / "nowhere", tmp_path / "out")
    result = search("nasbench201", proxy="params", samples=1, skeleton=SMALL, workers=0)
    with pytest.raises(SettingError, match="already has a space"):
        export(result, tmp_path / "out", space="darts")
