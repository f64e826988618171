"""`firstlight train` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.cli.command import CELL, Done, firstlight

from firstlight.training.checkpoint import Checkpoint

RECIPE = "quick:epochs=2:batch_size=16"


def run(out: Path, *more: str, recipe: str = RECIPE, code: int = 0) -> Done:
    asked = ["--data", "digits@8", "--data-samples", "60", "--skeleton", "channels=2,cells=1", "--recipe", recipe]
    return firstlight("train", "nasbench201", CELL, *asked, "--out", str(out), *more, code=code)


def test_lines_for_people_and_json_for_machines(tmp_path: Path) -> None:
    first = run(tmp_path)
    lines = [line for line in first.stderr.splitlines() if line.startswith("epoch")]
    assert [line.partition(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert "0 s left" in lines[-1]
    assert "% accuracy on 359 test samples, after the last epoch" in first.stdout
    assert "% accuracy on 15 validation samples, best, after epoch" in first.stdout
    assert "already complete" not in first.stdout
    again = run(tmp_path)
    assert "2 of 2 epochs were already complete." in again.stdout
    content = json.loads(run(tmp_path, "--json").stdout)
    assert content == json.loads((tmp_path / "result.json").read_text())
    assert 0 <= content["test_accuracy"] <= 1


def test_what_a_search_has_chosen_is_trained_and_exported(tmp_path: Path) -> None:
    def call(*words: str) -> Any:
        return json.loads(firstlight(*words, "--json").stdout)

    searched, trained = str(tmp_path / "run"), str(tmp_path / "run" / "trained")
    small = ["--skeleton", "channels=2,cells=1", "--samples", "3", "--input", "digits@8"]
    best = call("search", "nasbench201", "--proxy", "params", *small, "--out", searched)["best"]
    asked = ["--data", "digits@8", "--data-samples", "60", "--recipe", RECIPE, "--epochs", "1", "--out", trained]
    settings = call("train", searched, *asked)["settings"]
    assert settings["architecture"] == best["architecture"]
    assert settings["skeleton"] == "cells=1,channels=2,classes=10,input_shape=3x8x8"
    exported = call("export", trained, "-o", str(tmp_path / "exported"), "--format", "safetensors")
    assert exported["architecture"] == best["architecture"]
    own, given = (load_file(Path(folder, "weights.safetensors")) for folder in (trained, tmp_path / "exported"))
    assert own.keys() == given.keys()
    assert all(torch.equal(own[name], given[name]) for name in own)
    unknown = firstlight("train", "nowhere", *asked, code=1)
    assert "'nowhere' is not the folder of a search" in unknown.stderr


def test_help_explains_with_examples() -> None:
    text = firstlight("train", "--help").stdout
    assert "For example:\nfirstlight train runs/found" in text
    assert "\ntorchrun" in text


def test_notes_are_shown_and_epochs_can_be_set(tmp_path: Path) -> None:
    found = run(tmp_path, "--epochs", "1", recipe="darts-cifar:batch_size=16:cutout=2")
    assert "epoch 1/1" in found.stderr
    assert "drop_path=0.2 of the recipe 'darts-cifar' is not used" in found.stdout
    assert "auxiliary_weight=0.4 of the recipe 'darts-cifar' is not used" in found.stdout


def test_ctrl_c_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = Checkpoint.save

    def save_and_interrupt(self: Checkpoint, *args: Any) -> None:
        save(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupting:
        interrupting.setattr(Checkpoint, "save", save_and_interrupt)
        cut_off = run(tmp_path, code=130)
    assert f"All finished epochs are stored in {tmp_path}. To resume:" in cut_off.stderr
    assert f"firstlight train nasbench201 '{CELL}'" in cut_off.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.safetensors"]
    resumed = run(tmp_path)
    assert "1 of 2 epochs were already complete." in resumed.stdout
    assert "epoch 2/2" in resumed.stderr
    assert "epoch 1/2" not in resumed.stderr


def test_a_training_that_diverges_is_a_failure(tmp_path: Path) -> None:
    found = run(tmp_path, recipe=f"{RECIPE}:learning_rate=1e30:clip_norm=0", code=1)
    assert "The training ended early with the status diverged: The" in found.stdout
