"""Weights as safetensors files: numbers with names, which run nothing when they are read."""

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
    """All weights and statistics under their names, and text about them."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in network.state_dict().items()}
    path.write_bytes(save(tensors, dict(facts)))


def load_weights(network: nn.Module, path: Path) -> None:
    """Fill a network; a file that does not fit it exactly is refused."""
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}. Give the weights.safetensors of a training or of an export.")
    try:
        with safe_open(path, "pt"):  # the header is checked before anything is read
            tensors = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(
            f"{path} is no safetensors file: {error}. Other checkpoints, such as those of torch.save, are not read, "
            "because reading them can run code; write yours with safetensors.torch.save_file(model.state_dict(), ...)."
        ) from error
    differences = _differences(network.state_dict(), tensors)
    if differences:
        more = len(differences) - DIFFERENCES_SHOWN
        raise DataError(
            f"The weights in {path} are those of another network: {'; '.join(differences[:DIFFERENCES_SHOWN])}"
            f"{f'; and {more} more' if more > 0 else ''}. Give the architecture and the skeleton that they were "
            "trained with, or leave out the weights to have the network as it was initialised."
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
