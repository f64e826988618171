"""Training in earnest: what is in the folder, that it can be killed at any moment, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import firstlight
from firstlight.core.errors import DataError, MissingExtraError, SettingError, StoreError
from firstlight.core.events import Event
from firstlight.data import load_dataset
from firstlight.execution.executor import one_thread
from firstlight.spaces import SPACES
from firstlight.storage.tensor_files import read_tensors
from firstlight.training.trained import Trained

CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
SMALL = {"channels": 2, "cells": 1}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def trained(out: Path | None = None, **settings: Any) -> Trained:
    usual = {"recipe": "quick:epochs=2:batch_size=16", "data_samples": 60, "skeleton": SMALL, "out": out}
    return firstlight.train("nasbench201", CELL, data="digits@8", **(usual | settings))


def test_the_folder_holds_the_network_and_how_it_came_about(tmp_path: Path) -> None:
    seen: list[Event] = []
    found = trained(tmp_path / "run", callback=seen.append)
    assert [(event.done, event.total) for event in seen if event.item is not None] == [(3, 6), (6, 6)]
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "history.csv",
        "result.json",
        "weights.safetensors",
    ]
    content = json.loads((tmp_path / "run" / "result.json").read_text())
    assert content == found.to_dict()
    assert content["samples"] == {"training": 45, "validation": 15, "test": 359}
    assert content["settings"].keys() == {"space", "architecture", "skeleton", "data", "recipe", "seed", "revision"}
    assert content["last_validation_accuracy"] == found.result.epochs[-1].val_accuracy
    assert content["best_validation_accuracy"] == max(epoch.val_accuracy for epoch in found.result.epochs)
    rows = list(csv.DictReader((tmp_path / "run" / "history.csv").read_text().splitlines()))
    assert [float(row["val_loss"]) for row in rows] == [epoch.val_loss for epoch in found.result.epochs]
    space = SPACES["nasbench201"]
    network = space.build(CELL, space.skeleton(**SMALL, input_shape=(3, 8, 8))).eval()
    network.load_state_dict(read_tensors(tmp_path / "run" / "weights.safetensors"))
    data = load_dataset("digits@8", samples=60, test=True)
    with torch.no_grad():
        hits = network(data.x_test).argmax(1) == data.y_test
    assert float(hits.float().mean()) == pytest.approx(found.test_accuracy)


def test_the_same_call_again_trains_nothing_and_others_are_refused(tmp_path: Path) -> None:
    found = trained(tmp_path)
    again = trained(tmp_path, callback=lambda event: pytest.fail("there was nothing left to train"))
    assert again == found
    assert (found.known, again.known) == (0, 2)
    for name, tensor in found.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], tensor)
    with pytest.raises(StoreError, match=r"another training: .*; recipe epochs was '2', now '3'; seed was 0, now 1"):
        trained(tmp_path, epochs=3, seed=1)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(StoreError, match="not the result of a training"):
        trained(tmp_path)


def test_a_folder_that_cannot_be_made_is_noticed_before_the_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        trained(tmp_path / "file" / "run", callback=lambda event: pytest.fail("too late"))


def test_without_a_folder_the_network_is_in_memory() -> None:
    found, again, other = trained(), trained(), trained(seed=1)
    assert found.directory is None
    assert found == again != other
    assert not found.model.training


# what a killed process runs; the numbers of epochs and samples make it long enough to be hit
SCRIPT = """
import sys
import torch
from tests.training.test_trainer import long_training
torch.set_num_threads(1)
print("ready", flush=True)
long_training(sys.argv[1])
"""


def long_training(out: str | Path) -> Trained:
    recipe = "quick:epochs=6:batch_size=16:flip=true:crop=1:cutout=2"
    return trained(Path(out), recipe=recipe, data_samples=200)


def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = long_training(tmp_path / "whole")
    moments = random.Random()  # another one each time the test is run
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "killed")]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, env=_with_sources())
    checkpoint, deadline = tmp_path / "killed" / "checkpoint.safetensors", time.monotonic() + 300
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moments.random() * 0.8 * sum(epoch.seconds for epoch in whole.result.epochs))
    process.kill()
    process.communicate()
    resumed = long_training(tmp_path / "killed")
    assert resumed.known > 0
    assert resumed.result == whole.result
    assert resumed.test_accuracy == whole.test_accuracy
    weights, others = (read_tensors(tmp_path / name / "weights.safetensors") for name in ("whole", "killed"))
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def _with_sources() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_drop_path_and_auxiliary_head_leave_a_plain_network(tmp_path: Path) -> None:
    space, skeleton = SPACES["darts"], {"channels": 2, "cells": 3}
    recipe = "darts-cifar:epochs=2:batch_size=8:flip=false"
    found = firstlight.train(
        "darts", space.example(), data="digits", recipe=recipe, data_samples=24, skeleton=skeleton, out=tmp_path
    )
    assert found.notes == ()
    assert "auxiliary_weight=0.4" in found.settings["recipe"]
    plain = space.build(space.example(), space.skeleton(**skeleton))
    plain.load_state_dict(read_tensors(tmp_path / "weights.safetensors"))
    assert "auxiliary=0" in found.settings["skeleton"]
    assert found.model.drop_path == 0


def test_what_a_space_does_not_offer_is_noted(tmp_path: Path) -> None:
    found = trained(tmp_path, recipe="hnas:epochs=1:batch_size=16")
    assert found.samples["validation"] == 30
    assert found.notes == trained(tmp_path, recipe="hnas:epochs=1:batch_size=16").notes
    assert "drop_path=0.2 of the recipe 'hnas' is not used" in found.notes[0]


def test_a_training_that_diverges_has_no_weights(tmp_path: Path) -> None:
    found = trained(tmp_path, recipe="quick:epochs=2:batch_size=16:learning_rate=1e30:clip_norm=0")
    assert (found.result.status, found.test_accuracy) == ("diverged", None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["history.csv", "result.json"]


def write(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return f"npz:{path}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"recipe": "hnas:batch_size=500"},
            "batch_size is 500, but there are only 30 training samples.* hnas:batch_size=3",
        ),
        ({"recipe": "quick:batch_size=16:cutout=8"}, "cutout is 8, so images of 8 pixels .*cutout=4"),
        ({"recipe": "quick:batch_size=16:drop_path=0.1"}, "drop_path is 0.1, but networks of 'nasbench201'"),
        ({"skeleton": {"input_shape": (3, 9, 9)}}, r"inputs of \(3, 8, 8\)"),
        ({"tensorboard": True}, "Name one with out"),
        ({"seed": 2**64}, "64 bits"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        trained(**settings)


def test_an_auxiliary_head_is_for_the_recipe_to_ask_for() -> None:
    space = SPACES["darts"]
    with pytest.raises(SettingError, match="Leave auxiliary out of the skeleton"):
        firstlight.train("darts", space.example(), data="digits", skeleton={"auxiliary": 1, "cells": 1})


def test_data_that_cannot_be_trained_on(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20, 8, 8))
    one_class = write(tmp_path / "a.npz", x=x, y=np.ones(20, dtype=int))
    with pytest.raises(DataError, match="belong to one class"):
        firstlight.train("nasbench201", CELL, data=one_class)
    few = write(tmp_path / "b.npz", x=x, y=np.arange(20) % 2)
    with pytest.raises(DataError, match="0 of them for validation"):
        firstlight.train("nasbench201", CELL, data=few, recipe="quick:validation=0.01")


def test_tensorboard_is_an_extra(tmp_path: Path) -> None:
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"firstlight\[tensorboard\]"):
            trained(tmp_path, tensorboard=True)
        assert not list(tmp_path.iterdir())
    else:
        trained(tmp_path, tensorboard=True)
        assert list((tmp_path / "tensorboard").iterdir())
