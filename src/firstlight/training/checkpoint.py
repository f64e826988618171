"""Where a training stands after an epoch, in one file: weights, momentum, and what the epochs came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from firstlight.core.errors import StoreError
from firstlight.storage.outcome import Epoch
from firstlight.storage.tensor_files import read_about, read_tensors, write_tensors

_WEIGHTS, _MOMENTUM = "model.", "momentum."


@dataclass(frozen=True)
class Checkpoint:
    """A file that belongs to the training with these settings. Random numbers are not in it: they follow from these."""

    path: Path
    settings: Mapping[str, Any]

    def save(self, model: nn.Module, optimiser: torch.optim.Optimizer, epochs: list[Epoch]) -> None:
        tensors = {_WEIGHTS + name: tensor for name, tensor in model.state_dict().items()}
        for name, parameter in model.named_parameters():
            momentum = optimiser.state[parameter].get("momentum_buffer") if parameter in optimiser.state else None
            if momentum is not None:
                tensors[_MOMENTUM + name] = momentum
        about = {"settings": self.settings, "epochs": [asdict(epoch) for epoch in epochs]}
        write_tensors(self.path, tensors, about)

    def epochs(self) -> list[Epoch]:
        """Those that are done; none without a file."""
        if not self.path.exists():
            return []
        about = read_about(self.path)
        refuse_others(self.path.parent, about.get("settings", {}), self.settings)
        return [Epoch(**epoch) for epoch in about["epochs"]]

    def load(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> list[Epoch]:
        """The epochs that are done, with model and optimiser brought to where they were behind them."""
        epochs = self.epochs()
        tensors = read_tensors(self.path) if epochs else {}
        weights = {name.removeprefix(_WEIGHTS): tensor for name, tensor in tensors.items() if name.startswith(_WEIGHTS)}
        if weights:
            model.load_state_dict(weights)
        for name, parameter in model.named_parameters():
            if _MOMENTUM + name in tensors:
                optimiser.state[parameter]["momentum_buffer"] = tensors[_MOMENTUM + name].to(parameter.device)
        return epochs

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def refuse_others(folder: Path, there: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """What belongs to another training is neither continued nor overwritten."""
    was, now = _in_detail(there), _in_detail(asked)
    differences = [
        f"{name} was {was.get(name)!r}, now {now.get(name)!r}"
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    if differences:
        raise StoreError(
            f"The folder {folder} holds another training: {'; '.join(differences)}. "
            "Name another folder with --out, or use the earlier settings to go on with that one."
        )


def _in_detail(settings: Mapping[str, Any]) -> dict[str, Any]:
    """With those of recipe and skeleton, which are texts such as epochs=3,flip=True, one by one."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in ("recipe", "skeleton"):
            found |= {f"{name} {key}": text for key, _, text in (pair.partition("=") for pair in value.split(","))}
        else:
            found[name] = value
    return found
