"""Searches of click networks from the command line: shared weights, generations, and training the best."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.cli.command import firstlight
from tests.evaluation.prepared import made_up_clicks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("clicks")
    made_up_clicks(found)
    return found


def test_a_little_training_of_shared_weights_then_generations_then_training_the_best(folder: Path) -> None:
    words = "search nasrec-small --data criteo:clicks.parquet --warmup 50%:batch_size=32:policy=single-path"
    evolution = "--algorithm evolution:population=3:generations=2:tournament=2:children=1 --proxy sigeo --batch-size 16"
    then = "--retrain 1 --retrain-times 2 --recipe clicks:batch_size=64 --max-params 200k --workers 0"
    asked = (*words.split(), *evolution.split(), *then.split(), "--out", "run")
    result = json.loads(firstlight(*asked, "--json", folder=folder).stdout)
    assert result["samples"] == result["scored"] == 5
    assert list(result["best"]["scores"]) == ["sigeo:lambda3=1.0", "zico", "loss", "params"]
    retrained = result["retrained"]
    assert (retrained["seeds"], retrained["recipe"]) == ([0, 1], "clicks:batch_size=64")
    assert sorted(network["kind"] for network in retrained["networks"]) == ["by hand"] * 4 + ["found"]
    (weights,) = (network["weights"] for network in retrained["networks"] if network["kind"] == "found")
    assert (folder / "run" / weights).is_file()
    again = firstlight(*asked, folder=folder).stdout
    assert "0 networks scored and 5 reused" in again
    assert "log loss, validation" in again
    assert "logistic (handcrafted)" in again
    assert "firstlight train" not in again  # which is for images
    assert "firstlight export run -o run/exported" in again


def test_the_best_that_was_trained_is_exported_with_its_weights(folder: Path) -> None:
    words = "search nasrec-small --data criteo:clicks.parquet --proxy params --samples 4 --max-params 100k --workers 0"
    then = "--retrain 2 --recipe clicks:batch_size=64:layer_norm=0 --out trained --json"
    retrained = json.loads(firstlight(*words.split(), *then.split(), folder=folder).stdout)["retrained"]
    shown = firstlight("export", "trained", "-o", "exported", folder=folder).stdout
    assert "best of 2 networks that the search retrained, on the validation set" in " ".join(shown.split())
    described = json.loads((folder / "exported" / "architecture.json").read_text())
    assert described["architecture"] == retrained["best"]
    assert described["skeleton"]["layer_norm"] == 0
    (name,) = (network["weights"] for network in retrained["networks"] if network["name"] == retrained["best"])
    kept, written = (load_file(folder / path) for path in (f"trained/{name}", "exported/weights.safetensors"))
    assert kept.keys() == written.keys()
    assert all(torch.equal(kept[key], written[key]) for key in kept)
    refused = firstlight("train", "trained", "--data", "digits", "--out", "nowhere", folder=folder, code=1).stderr
    assert "firstlight export trained -o FOLDER` writes the best of them with its weights" in refused
    initial = firstlight("export", "trained", "-o", "initial", "--seed", "1", folder=folder).stdout
    assert "initialized with seed 1" in initial


def test_a_search_that_trained_nothing_says_how_to(folder: Path) -> None:
    words = "search nasrec-small --proxy params --samples 2 --workers 0 --out untrained"
    assert "export" not in firstlight(*words.split(), folder=folder).stdout
    refused = firstlight("train", "untrained", "--data", "digits", "--out", "nowhere", folder=folder, code=1).stderr
    assert "Run the search again with --retrain 5" in refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data digits --retrain 3", "needs click data"),
        ("--data criteo:clicks.parquet --epochs 3", "no network is retrained"),
        ("--data criteo:log.tsv", "firstlight data prepare criteo"),
        ("--data criteo:clicks.parquet --warmup 1%", "A warm-up needs at least 4 batches"),
        ("--input digits", "take clicks"),
        ("--warmup 1%", "nothing can be learned from 'synthetic'"),
    ],
)
def test_bad_input_gets_a_clear_error(folder: Path, words: str, message: str) -> None:
    assert message in firstlight("search", "nasrec-small", *words.split(), folder=folder, code=1).stderr
