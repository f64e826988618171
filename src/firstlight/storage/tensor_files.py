"""Tensors in safetensors files, which are there as a whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from firstlight.core.errors import StoreError

T = TypeVar("T")

# All that is not a tensor is kept under this name of the file's metadata, as JSON
_ABOUT = "firstlight"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """A safetensors file, which is there as a whole or not at all."""
    # copies: the format wants each tensor for itself, and layers may share theirs
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    write_whole(path, save(copies, {_ABOUT: json.dumps(about)}))


def write_whole(path: Path, content: bytes) -> None:
    """A file gets its name when all of it is on the disk."""
    unfinished = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):  # on a full disk, what there is of it would be in the way
            unfinished.unlink()
        raise StoreError(
            f"{path} cannot be written: {error}. Make room if the disk is full and run the same command again, or name "
            "another folder with --out."
        ) from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    return _read(path, lambda file: {name: file.get_tensor(name) for name in file.keys()})[0]  # noqa: SIM118


def read_about(path: Path) -> dict[str, Any]:
    """What was written into a file besides its tensors."""
    return _read(path, lambda file: None)[1]


def _read(path: Path, what: Callable[[Any], T]) -> tuple[T, dict[str, Any]]:
    """Something of a file of tensors, and what else was written into it."""
    try:
        with safe_open(path, framework="pt") as file:
            return what(file), json.loads((file.metadata() or {}).get(_ABOUT, "{}"))
    except (OSError, SafetensorError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}. Move it away to start that training again, or name another folder."
        ) from error
