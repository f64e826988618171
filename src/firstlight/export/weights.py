"""Weights as safetensors files, which run no code when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from firstlight.core.errors import DataError, MissingFileError

WEIGHTS_NAME = "weights.safetensors"
DIFFERENCES_SHOWN = 3


def save_weights(network: nn.Module, path: Path, facts: Mapping[str, str]) -> None:
    """Write all parameters and buffers under their names, and `facts` into the header."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in network.state_dict().items()}
    path.write_bytes(save(tensors, dict(facts)))


def load_weights(network: nn.Module, path: Path) -> None:
    """Load weights into a network; the file must fit it exactly."""
    if not path.is_file():
        raise MissingFileError(f"{path} does not exist. Give the weights.safetensors of a training or of an export.")
    try:
        with safe_open(path, "pt"):  # check the header before anything is read
            tensors = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(
            f"{path} is not a safetensors file: {error}. Other checkpoints, such as those of torch.save, are rejected, "
            "because loading them can run code. Write yours with safetensors.torch.save_file(model.state_dict(), ...)."
        ) from error
    differences = _differences(network.state_dict(), tensors)
    if differences:
        more = len(differences) - DIFFERENCES_SHOWN
        raise DataError(
            f"The weights in {path} belong to another network: {'; '.join(differences[:DIFFERENCES_SHOWN])}"
            f"{f'; and {more} more' if more > 0 else ''}. Give the architecture and the skeleton that they were "
            "trained with, or leave out the weights to export the initial ones."
        )
    network.load_state_dict(tensors)


def _differences(expected: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> list[str]:
    found = []
    for name in [*expected, *(name for name in given if name not in expected)]:
        if name not in given:
            found.append(f"{name} is missing")
        elif name not in expected:
            found.append(f"{name} is not in the network")
        elif expected[name].shape != given[name].shape:
            found.append(f"{name} is {tuple(given[name].shape)} where it should be {tuple(expected[name].shape)}")
    return found
