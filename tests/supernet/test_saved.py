"""Weight-sharing networks as files: they come back as they were, and never in place of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from firstlight.errors import StoreError
from firstlight.spaces.nasrec import NasRecSmall
from firstlight.spaces.nasrec_network import NasRecSkeleton
from firstlight.supernet.saved import load_shared, save_shared
from firstlight.supernet.shared import SharedNasRec

SHARED = SharedNasRec(NasRecSmall(1))
SKELETON = NasRecSkeleton((8,), dense=5, rows=6)
SETTINGS = SHARED.settings(SKELETON, SHARED.policy(), SHARED.recipe, seed=4, data="abc")


def test_weights_come_back(tmp_path: Path) -> None:
    network = SHARED.network(SKELETON, seed=1)
    save_shared(network, tmp_path / "new" / "weights.safetensors", SETTINGS)
    other = SHARED.network(SKELETON, seed=2)
    load_shared(other, tmp_path / "new" / "weights.safetensors", SETTINGS)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in network.state_dict().items())
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["weights.safetensors"]


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    network = SHARED.network(SKELETON)
    save_shared(network, tmp_path / "weights", SETTINGS)
    recipe = replace(SHARED.recipe, learning_rate=0.2)
    asked = SHARED.settings(replace(SKELETON, rows=7), SHARED.policy("full"), recipe, seed=4)
    with pytest.raises(
        StoreError,
        match=r"trained otherwise: data was 'abc', now None; policy was 'published', now 'full'; recipe.learning_rate "
        r"was 0.12, now 0.2; skeleton.rows was 6, now 7\. Name another",
    ):
        load_shared(network, tmp_path / "weights", asked)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    network = SHARED.network(SKELETON)
    with pytest.raises(StoreError, match="cannot be read"):
        load_shared(network, tmp_path / "nothing", SETTINGS)
    save_shared(nn.Linear(2, 2), tmp_path / "weights", SETTINGS)
    with pytest.raises(StoreError, match="cannot be read"):
        load_shared(network, tmp_path / "weights", SETTINGS)
    with pytest.raises(StoreError, match=r"weight is \(2, 2\) where the network has \(3, 2\)"):
        load_shared(nn.Linear(2, 3), tmp_path / "weights", SETTINGS)
    path = tmp_path / "cut"
    save_shared(network, path, SETTINGS)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StoreError, match="cannot be read"):
        load_shared(network, path, SETTINGS)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        save_shared(network, tmp_path / "file" / "weights", SETTINGS)
