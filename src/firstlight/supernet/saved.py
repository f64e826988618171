"""Weight-sharing networks as files: safetensors with all settings that the weights follow from, as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from firstlight.errors import StoreError

_SETTINGS = "firstlight"  # the entry of the file's metadata


def save_shared(network: nn.Module, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
    """Write the weights; the file gets its name when it is complete."""
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    weights = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(weights, unfinished, {_SETTINGS: json.dumps(dict(settings), sort_keys=True)})
        os.replace(unfinished, path)
    except (OSError, SafetensorError) as error:
        raise StoreError(f"{path} cannot be written: {error}. Name another file, or make room.") from error


@torch.no_grad()
def load_shared(network: nn.Module, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
    """Fill a network with the weights of a file that was written with the same settings; others are refused."""
    path = Path(path)
    try:
        with safe_open(path, "pt") as file:
            written = json.loads((file.metadata() or {}).get(_SETTINGS, "{}"))
            _refuse_others(path, written, json.loads(json.dumps(dict(settings))))
            for name, value in network.state_dict().items():  # one by one: there may be hundreds of millions of numbers
                found = file.get_tensor(name)
                if found.shape != value.shape:
                    raise ValueError(f"{name} is {tuple(found.shape)} where the network has {tuple(value.shape)}")
                value.copy_(found)
    except (OSError, SafetensorError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}. Remove the file, so that the network is trained again."
        ) from error


def _refuse_others(path: Path, written: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    was, now = dict(_flat(written)), dict(_flat(asked))
    differences = [
        f"{name} was {was.get(name)!r}, now {now.get(name)!r}"
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    if differences:
        raise StoreError(
            f"The weights in {path} were trained otherwise: {'; '.join(differences)}. Name another file, or ask for "
            "the earlier settings."
        )


def _flat(settings: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Settings within settings one by one, as in `recipe.learning_rate`."""
    found: list[tuple[str, Any]] = []
    for name, value in settings.items():
        found += _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else [(before + name, value)]
    return found
