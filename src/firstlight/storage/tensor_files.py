"""Tensors in safetensors files, written completely or not at all."""

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

# The key of the file's metadata with everything that is not a tensor, as JSON
_ABOUT = "firstlight"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors, and facts about them, to a safetensors file."""
    # copies, because the format does not allow shared memory, which tied layers have
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    write_whole(path, save(copies, {_ABOUT: json.dumps(about)}))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, and rename it when it is complete."""
    unfinished = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):  # a partial file would take space on a full disk
            unfinished.unlink()
        raise StoreError(
            f"{path} cannot be written: {error}. Free some space if the disk is full and run the same command again, "
            "or name another folder with --out."
        ) from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file by name."""
    return _read(path, lambda file: {name: file.get_tensor(name) for name in file.keys()})[0]  # noqa: SIM118


def read_about(path: Path) -> dict[str, Any]:
    """Read the facts that were written beside the tensors."""
    return _read(path, lambda file: None)[1]


def _read(path: Path, what: Callable[[Any], T]) -> tuple[T, dict[str, Any]]:
    """Read what is asked of a file, and the facts in it."""
    try:
        with safe_open(path, framework="pt") as file:
            return what(file), json.loads((file.metadata() or {}).get(_ABOUT, "{}"))
    except (OSError, SafetensorError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}. Move it away to start that training again, or name another folder."
        ) from error
