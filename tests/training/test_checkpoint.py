"""Checkpoints hold all that a training needs to go on, belong to it alone, and are told apart from damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from firstlight.core.errors import StoreError
from firstlight.storage.outcome import Epoch
from firstlight.training.checkpoint import Checkpoint

SETTINGS: dict[str, Any] = {"space": "a", "recipe": "epochs=3,flip=False", "seed": 0}
EPOCHS = [Epoch(0.1 + 0.2, 0.5, 1 / 3, 0.25, 1.5)]


def trained(steps: int = 3) -> tuple[nn.Module, torch.optim.Optimizer]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2))
        idle = nn.Linear(2, 2)  # never used: it has no momentum
        model.append(nn.Identity()).register_module("idle", idle)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        for _ in range(steps):
            optimiser.zero_grad()
            x = torch.randn(5, 3, 4, 4)
            for name, layer in model.named_children():
                x = x if name == "idle" else layer(x)
            x.square().mean().backward()
            optimiser.step()
    return model, optimiser


def test_weights_buffers_and_momentum_come_back_bit_for_bit(tmp_path: Path) -> None:
    model, optimiser = trained()
    checkpoint = Checkpoint(tmp_path / "new" / "checkpoint.safetensors", SETTINGS)
    other, other_optimiser = trained(steps=0)
    assert checkpoint.load(other, other_optimiser) == []
    checkpoint.save(model, optimiser, EPOCHS)
    assert checkpoint.epochs() == checkpoint.load(other, other_optimiser) == EPOCHS
    assert checkpoint.epochs()[0].seconds == 1.5
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    momenta = 0
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        if mine in optimiser.state:
            assert torch.equal(
                optimiser.state[mine]["momentum_buffer"], other_optimiser.state[theirs]["momentum_buffer"]
            )
            momenta += 1
        else:
            assert theirs not in other_optimiser.state
    assert momenta == 6
    checkpoint.remove()
    checkpoint.remove()
    assert checkpoint.epochs() == []


def test_those_of_another_training_are_refused(tmp_path: Path) -> None:
    model, optimiser = trained()
    path = tmp_path / "checkpoint.safetensors"
    Checkpoint(path, SETTINGS).save(model, optimiser, EPOCHS)
    other = Checkpoint(path, SETTINGS | {"recipe": "cutout=2,epochs=4,flip=False", "seed": 1})
    with pytest.raises(
        StoreError,
        match="another training: recipe cutout was None, now '2'; recipe epochs was '3', now '4'; seed was 0, now 1",
    ):
        other.load(model, optimiser)


def test_a_file_that_was_damaged(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(b"half of a checkpoi")
    with pytest.raises(StoreError, match=r"checkpoint.safetensors cannot be read.*Move it away"):
        Checkpoint(path, SETTINGS).epochs()
