"""Checkpoints: weights, state of the optimizer and results of the epochs so far, in one file."""

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

_WEIGHTS = "model."
# The states of optimizers, and what they are called in a file
_STATES = {
    "momentum_buffer": "momentum.",
    "sum": "sum.",
    "step": "step.",
    "exp_avg": "first.",
    "exp_avg_sq": "second.",
}
_AVERAGE = "average."


@dataclass(frozen=True)
class Checkpoint:
    """A file with the state of a training after an epoch.

    Random states are not in it: they follow from the settings and the number of the epoch.

    Args:
        path: The file.
        settings: Everything that decides the outcome. A file with other settings is refused.
    """

    path: Path
    settings: Mapping[str, Any]

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        epochs: list[Epoch],
        average: nn.Module | None = None,
    ) -> None:
        """Write the file, or replace it; `average` holds the moving average of the weights, if there is one."""
        tensors = {_WEIGHTS + name: tensor for name, tensor in model.state_dict().items()}
        for name, parameter in model.named_parameters():
            known = optimizer.state.get(parameter, {})
            tensors |= {
                prefix + name: known[state] for state, prefix in _STATES.items() if known.get(state) is not None
            }
        for name, tensor in ({} if average is None else average.state_dict()).items():
            tensors[_AVERAGE + name] = tensor
        about = {"settings": self.settings, "epochs": [asdict(epoch) for epoch in epochs]}
        write_tensors(self.path, tensors, about)

    def epochs(self) -> list[Epoch]:
        """Return the epochs that are done; none if there is no file."""
        if not self.path.exists():
            return []
        about = read_about(self.path)
        refuse_others(self.path.parent, about.get("settings", {}), self.settings)
        return [Epoch(**epoch) for epoch in about["epochs"]]

    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None) -> list[Epoch]:
        """Restore model, optimizer and moving average, and return the epochs that are done."""
        epochs = self.epochs()
        tensors = read_tensors(self.path) if epochs else {}
        weights = {name.removeprefix(_WEIGHTS): tensor for name, tensor in tensors.items() if name.startswith(_WEIGHTS)}
        if weights:
            model.load_state_dict(weights)
        if average is not None and tensors:
            average.load_state_dict(
                {name.removeprefix(_AVERAGE): tensor for name, tensor in tensors.items() if name.startswith(_AVERAGE)}
            )
        for name, parameter in model.named_parameters():
            for state, prefix in _STATES.items():
                if prefix + name in tensors:
                    optimizer.state[parameter][state] = tensors[prefix + name].to(parameter.device)
        return epochs

    def remove(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)


def refuse_others(folder: Path, there: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise an error if a folder holds a training with other settings: it is neither resumed nor overwritten."""
    was, now = _in_detail(there), _in_detail(asked)
    differences = [
        f"{name} was {was.get(name)!r}, now {now.get(name)!r}"
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    if differences:
        raise StoreError(
            f"The folder {folder} holds another training: {'; '.join(differences)}. "
            "Name another folder with --out, or use the earlier settings to resume that training."
        )


def _in_detail(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Split the texts of recipe and skeleton, such as epochs=3,flip=True, into their settings."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in ("recipe", "skeleton"):
            found |= {f"{name} {key}": text for key, _, text in (pair.partition("=") for pair in value.split(","))}
        else:
            found[name] = value
    return found
