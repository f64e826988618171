"""Several processes train one network: each a slice of every batch, all with the same weights at the end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from firstlight.core.errors import SettingError
from firstlight.data import Dataset
from firstlight.storage.tensor_files import read_tensors
from firstlight.training.classifier import train_classifier
from firstlight.training.distributed import ALONE, Ranks, joined
from firstlight.training.recipe import TrainingRecipe

SCRIPT = """
import json
import sys
from pathlib import Path
import torch
import firstlight
from firstlight.storage.tensor_files import write_tensors
from firstlight.training.distributed import joined
from tests.training.test_distributed import plain_training
torch.set_num_threads(1)
space, rank, folder = firstlight.space("nasbench201"), sys.argv[1], Path(sys.argv[2])
asked = dict(data="digits@8", seed=1, data_samples=58, skeleton={"channels": 2, "cells": 1})
recipe = "quick:epochs=2:batch_size=15"
with joined(None) as (ranks, device):
    found = firstlight.train(space.name, space.example(), recipe=recipe, out=folder / "run", **asked)
    average = firstlight.train(space.name, space.example(), recipe=recipe + ":average=0.5", **asked)
    linear = plain_training(ranks)
write_tensors(folder / f"{rank}.safetensors", found.model.state_dict(), {})
write_tensors(folder / f"average-{rank}.safetensors", average.model.state_dict(), {})
write_tensors(folder / f"linear-{rank}.safetensors", linear.state_dict(), {})
(folder / f"{rank}.json").write_text(json.dumps(found.to_dict()["epochs"]))
"""


def plain_training(ranks: Ranks) -> nn.Module:
    """Without BatchNorm, whether one process has a batch or several share it makes no difference; slices are uneven."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(25, 3, 4, 4, generator=generator), torch.arange(25) % 3
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    recipe = TrainingRecipe(epochs=2, batch_size=7, flip=True, crop=1)
    train_classifier(model, Dataset(x, y, x[:9], y[:9], 3, "made up"), recipe, ranks=ranks)
    return model


def test_two_processes_end_with_one_network(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    surroundings = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(rank), str(tmp_path)],
            env=os.environ | surroundings | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    mine, theirs, kept = (
        read_tensors(tmp_path / name) for name in ("0.safetensors", "1.safetensors", "run/weights.safetensors")
    )
    assert mine.keys() == theirs.keys() == kept.keys()
    for name in mine:
        assert torch.equal(mine[name], theirs[name]), name
        assert torch.equal(mine[name], kept[name]), name
    one, other = (read_tensors(tmp_path / f"average-{rank}.safetensors") for rank in range(2))
    for name in one:
        assert torch.equal(one[name], other[name]), name
    assert any(not torch.equal(one[name], mine[name]) for name in one)
    for name, tensor in plain_training(ALONE).state_dict().items():
        torch.testing.assert_close(read_tensors(tmp_path / "linear-0.safetensors")[name], tensor)
    content = json.loads((tmp_path / "run" / "result.json").read_text())
    assert content["settings"]["processes"] == 2
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "history.csv",
        "result.json",
        "weights.safetensors",
    ]
    epochs = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    for first, second in zip(*epochs, strict=True):
        assert first | {"seconds": 0} == second | {"seconds": 0}  # sums over both: neither has seen all samples


def test_alone_nothing_is_different() -> None:
    model, batch = nn.Linear(2, 2), torch.arange(5)
    assert ALONE.is_first
    assert ALONE.parallel(model) is model
    assert torch.equal(ALONE.slice(batch), batch)
    assert ALONE.sums(torch.device("cpu"), 0.1, 3) == [0.1, 3]
    assert ALONE.purpose == ()


def test_slices_make_up_the_batch() -> None:
    batch = torch.arange(11)
    slices = [Ranks(rank, 3).slice(batch) for rank in range(3)]
    assert torch.equal(torch.cat(slices), batch)
    assert {len(part) for part in slices} <= {3, 4}
    assert len({Ranks(rank, 3).purpose for rank in range(3)}) == 3


def test_processes_that_do_not_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingError, match="WORLD_SIZE is 2, but the processes did not find each other"), joined(None):
        pass
