"""Files of tensors are never half there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from firstlight.core.errors import StoreError
from firstlight.storage.tensor_files import read_about, read_tensors, write_tensors, write_whole


def test_what_is_written_with_the_tensors_comes_back(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a.safetensors", {"x": torch.arange(3)}, {"epochs": [1, 2]})
    assert read_about(tmp_path / "a.safetensors") == {"epochs": [1, 2]}
    assert torch.equal(read_tensors(tmp_path / "a.safetensors")["x"], torch.arange(3))


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"x": torch.ones(2)}, {})
    (tmp_path / "a.safetensors.part").mkdir()  # nothing can be written under this name
    with pytest.raises(StoreError, match="cannot be written"):
        write_tensors(path, {"x": torch.zeros(2)}, {})
    assert torch.equal(read_tensors(path)["x"], torch.ones(2))


def test_a_killed_write_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a.txt.part").write_bytes(b"much longer than what is to come")
    write_whole(tmp_path / "a.txt", b"short")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.txt", b"short")]


def test_layers_that_share_weights(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    write_tensors(tmp_path / "a.safetensors", model.state_dict(), {})
    assert read_tensors(tmp_path / "a.safetensors").keys() == model.state_dict().keys()
